package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

// TestCutAnswers has the answer to a call end at every third byte, after the tool
// has run: what comes is the whole answer, or that its outcome is unknown. The call
// is never sent again, unless it is safe, and others in flight do not notice.
func TestCutAnswers(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		json  bool // instead of an event
		abort bool // the connection is reset; else the body ends as if it were all
	}{
		"events, reset": {false, true},
		"events, ended": {false, false},
		"JSON, reset":   {true, true},
		"JSON, ended":   {true, false},
	}
	const every = 3 // bytes
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			w := openOne(t, tools.MCPConfig{URL: s.url, Trust: true}, mcp.Options{})
			held := s.hold(w.tool("s.pay"), 2)
			for at, all := 0, every; at <= all; at += every {
				text, length := fmt.Sprintf("pay %d", at), make(chan int, 1)
				s.answersOnce(text, func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
					sent := recorded(next, req, kind.json)
					length <- len(sent)
					write(rw, kind.json, sent[:at], kind.abort && at < len(sent))
				})
				paid := sell(w.tool("s.pay"), order{Text: text})
				all = <-length
				wantOnce(t, s, paid, at == all)

				look := fmt.Sprintf("look %d", at)
				s.answersOnce(look, func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
					sent := recorded(next, req, kind.json)
					write(rw, kind.json, sent[:min(at, len(sent))], kind.abort && at < len(sent))
				})
				c := sell(w.tool("s.look"), order{Text: look})
				if <-c.done; c.err != nil || c.res.Text != "did "+look || s.counts(look) > 2 {
					t.Errorf("cut at byte %d: got %+v, %v after %d runs, want an answer after 2 at most", at, c.res, c.err, s.counts(look))
				}
			}
			s.release()
			s.wantDid(held...)
			if n := s.sessions(); n != 1 {
				t.Errorf("%d sessions, want 1: the calls of others were lost", n)
			}
		})
	}
}

// recorded is what the server answers, as the data of its event or with all around it.
func recorded(next http.Handler, req *http.Request, asJSON bool) string {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, req)
	body := rec.Body.String()
	if !asJSON {
		return body
	}
	_, data, _ := strings.Cut(body, "data: ")
	return strings.TrimSpace(data)
}

func write(w http.ResponseWriter, asJSON bool, body string, abort bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	if asJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(http.StatusOK)
	fmt.Fprint(w, body)
	w.(http.Flusher).Flush()
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// wantOnce checks that a call ran once, and came to its answer or to none.
func wantOnce(t *testing.T, s *shop, c *sale, isWhole bool) {
	t.Helper()
	<-c.done
	did := c.err == nil && c.res == (tools.Result{Text: "did " + c.text})
	unknown := c.err != nil && strings.Contains(c.err.Error(), "interrupted; its outcome is unknown")
	if !did && (isWhole || !unknown) {
		t.Errorf("%s: got %+v, %v, want the answer or that it is unknown", c.text, c.res, c.err)
	}
	if ran := s.counts(c.text); ran != 1 {
		t.Errorf("%s ran %d times, want 1", c.text, ran)
	}
}

// TestSplitAnswers has the answer to a call come in two pieces, divided at each of
// its bytes.
func TestSplitAnswers(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		t.Run(fmt.Sprintf("JSON %t", asJSON), func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			for at, all := 0, 1; at <= all; at++ {
				text := fmt.Sprintf("pay %d", at)
				s.answersOnce(text, func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
					sent := recorded(next, req, asJSON)
					all = len(sent)
					write(rw, asJSON, sent[:at], false)
					fmt.Fprint(rw, sent[at:])
				})
				s.wantDid(sell(w.tool("s.pay"), order{Text: text}))
			}
		})
	}
}

// cutOrder is what the tools of serveCut are called with.
type cutOrder struct {
	At   int    `json:"at"`
	Ends bool   `json:"ends"` // the program ends there, instead of going on
	Log  string `json:"log"`  // file with a line for each run
}

// serveCut is a program whose answers to calls are cut or split.
func serveCut() {
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"cut","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"pay","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		case "tools/call":
			o := m.Params.Arguments
			runs := note(o.Log)
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"did"}]}}`+"\n", m.ID)
			at := min(o.At, len(line))
			os.Stdout.WriteString(line[:at])
			if o.Ends && runs == 1 {
				os.Exit(0)
			}
			os.Stdout.WriteString(line[at:])
		case "ping":
			answer(m.ID, `{}`)
		}
	})
}

// note adds a run to a file and returns how many are in it.
func note(file string) int {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(1)
	}
	f.WriteString("ran\n")
	f.Close()
	data, _ := os.ReadFile(file)
	return strings.Count(string(data), "ran")
}

// TestProgramThatAnswersInPieces has the answer to a call come in two writes.
func TestProgramThatAnswersInPieces(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("cut"), mcp.Options{})
	for at := range 90 {
		o := cutOrder{At: at, Log: t.TempDir() + "/log"}
		if res, err := pay(t, w, "s.pay", o); err != nil || res.Text != "did" || runs(o.Log) != 1 {
			t.Errorf("split at byte %d: got %+v, %v after %d runs", at, res, err, runs(o.Log))
		}
	}
}

// pay calls a tool of a program that may have to start again first.
func pay(t *testing.T, w *world, tool string, o cutOrder) (tools.Result, error) {
	t.Helper()
	args, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		res, err := w.tool(tool).Run(t.Context(), call(string(args)))
		if err == nil || runs(o.Log) > 0 || time.Now().After(deadline) {
			return res, err
		}
	}
}

func runs(file string) int {
	data, _ := os.ReadFile(file)
	return strings.Count(string(data), "ran")
}
