package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/tools"
	"agenthost/tools/mcp"

	"github.com/rs/zerolog"
)

// A complaint answers no request: a server cannot read one.
const complaint = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`

// longComplaint is a complaint with n more bytes, and its id at an end.
func longComplaint(n int, idFirst bool) string {
	words := fmt.Sprintf(`"error":{"code":-32700,"message":"Parse error","data":%q}`, strings.Repeat("x", n))
	if idFirst {
		return `{"jsonrpc":"2.0","id":null,` + words + `}`
	}
	return `{` + words + `,"jsonrpc":"2.0","id":null}`
}

// complaining is the server of serveStdio, which complains of something first.
var complaining = map[string]func() string{
	"long":                func() string { return longComplaint(70<<10, true) },
	"too long":            func() string { return longComplaint(17<<20, true) },
	"too long, id at end": func() string { return longComplaint(17<<20, false) },
	"in a list":           func() string { return "[" + complaint + "]" },
}

func complain(words func() string) func() {
	return func() {
		fmt.Println(words())
		serveStdio()
	}
}

// complainInLists writes what it cannot read, and the answers to two calls at a time,
// in lists.
func complainInLists() {
	var first json.RawMessage
	hi := func(id json.RawMessage) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"hi"},{"type":"text","text":"a, \"b]\\"}]},"id":%s}`, id)
	}
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"lists","version":"1"}}`)
		case "tools/list":
			fmt.Printf(`[%s, {"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}]`+"\n", complaint, m.ID)
		case "tools/call":
			if first == nil {
				first = m.ID
				return
			}
			fmt.Printf(" [%s ,%s,7,%s]\n", hi(first), complaint, hi(m.ID))
			first = nil
		}
	})
}

// answerOddly has fields in its answers that look like those of a complaint, and
// one that belongs to no request.
func answerOddly() {
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":null,"Method":"x","ID":%s,"error":{"code":-32700,"message":"Parse error"}}`+"\n", m.ID)
			answer(m.ID, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","\u0069d":%s,"result":{"id":null,"content":[{"type":"text","text":"hi"}]},"ID":null}`+"\n", m.ID)
		}
	})
}

// wantLeftOut checks that the log has the words of a complaint and not much more,
// and no end.
func wantLeftOut(t *testing.T, said string) {
	t.Helper()
	if !strings.Contains(said, `\"message\":\"Parse error\"`) {
		t.Error("the complaint is not in the log")
	}
	if n := strings.Count(said, "left out"); n > 20 {
		t.Errorf("%d lines in the log", n)
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, "is gone") || len(line) > 6<<10 {
			t.Errorf("in the log: %.600s", line)
		}
	}
}

// An answer may be in several lines, of which one looks like an answer to no request.
func TestAnswerInSeveralLines(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
	s.answersOnce("one", func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
		before, after, _ := strings.Cut(recorded(next, req, true), `"result":`)
		write(rw, false, "data: "+before+`"result":`+"\ndata: "+after[:len(after)-1]+"\ndata: }\n\n", false)
	})
	s.wantDid(sell(w.tool("s.pay"), order{Text: "one"}))
}

// One that is too long ends its call alone.
func TestTooLongAnswerInSeveralLines(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
	held := s.hold(w.tool("s.pay"), 2)
	s.answersOnce("one", func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
		before, after, _ := strings.Cut(recorded(next, req, true), `"result":`)
		line := "\ndata: " + strings.Repeat(" ", 6<<20)
		write(rw, false, "data: "+before+`"result":`+strings.Repeat(line, 3)+after+"\n\n", false)
	})
	if res := w.run("s.pay", `{"text":"one"}`); !res.Failed || !strings.HasPrefix(res.Text, "the answer is longer than 16 MiB") {
		t.Errorf("got %.200s", res.Text)
	}
	s.release()
	s.wantDid(held...)
	if n := s.sessions(); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// One that cannot be read ends its call alone, too.
func TestAnswerThatCannotBeReadEndsItsCallOverHTTP(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		asJSON bool
		nested int
	}{"JSON": {true, 2000}, "very deep JSON": {true, 100_000}, "events": {false, 2000}, "very deep events": {false, 100_000}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			held := s.hold(w.tool("s.pay"), 2)
			s.answersOnce("one", func(rw http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
				before, after, _ := strings.Cut(recorded(next, req, true), `"result":{`)
				text := before + `"result":{"structuredContent":{"a":` + strings.Repeat("[", tt.nested) + strings.Repeat("]", tt.nested) + "}," + after
				if !tt.asJSON {
					text = "data: " + text + "\n\n"
				}
				write(rw, tt.asJSON, text, false)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			res, err := w.tool("s.pay").Run(ctx, call(`{"text":"one"}`))
			if err != nil || !res.Failed || !strings.HasPrefix(res.Text, "the answer cannot be read: ") {
				t.Errorf("got %.200s, %.300v", res.Text, err)
			}
			s.release()
			s.wantDid(held...)
			if n := s.sessions(); n != 1 {
				t.Errorf("%d sessions, want 1", n)
			}
		})
	}
}

// A complaint on the stream of a server's own is not the end of the session: what
// comes after it is heard.
func TestComplaintOnTheServersOwnStream(t *testing.T) {
	t.Parallel()
	h := handler(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte(`"server/discover"`)): // in this way of a session there is no such stream
			http.NotFound(w, req)
		case req.Method == http.MethodGet:
			h.ServeHTTP(complainingWriter{w}, req)
		default:
			h.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(srv.Close)
	var said bustest.LogBuffer
	w := openLogged(t, map[string]tools.MCPConfig{"s": {URL: srv.URL}}, mcp.Options{Log: zerolog.New(&said)})
	w.pool.Await(t.Context())
	bustest.Eventually(t, "the complaint in the log", func() bool { return strings.Contains(said.String(), "Parse error") })
	w.run("s.grow", `{}`)
	w.until("the tool that the server told of", func() bool { return slices.Contains(names(w.client().Tools()), "s.grown") })
	w.stop()
	wantLeftOut(t, said.String())
}

// A complainingWriter begins a stream with a complaint.
type complainingWriter struct{ http.ResponseWriter }

func (c complainingWriter) WriteHeader(code int) {
	c.ResponseWriter.WriteHeader(code)
	fmt.Fprintf(c.ResponseWriter, "event: message\ndata: %s\n\n", complaint)
}

func (c complainingWriter) Flush() { c.ResponseWriter.(http.Flusher).Flush() }
