package llmtest

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/llm"
)

const (
	short = 100 * time.Millisecond // of the timeout that is to run out
	long  = time.Minute
)

// A hang is a server that stops at some stage of a call.
type hang struct {
	stream   string // the file of the dialect that is begun; empty: nothing is said
	upTo     string // cut after the event with it; empty: whole
	chatter  string // said again and again after it
	header   bool   // of an answer, where nothing is said
	unheard  bool   // the server accepts no connection
	timeouts llm.Timeouts
	want     string // of the error
	visible  bool   // no second try
}

var hangs = map[string]hang{
	"accepts nothing": {unheard: true, timeouts: llm.Timeouts{First: short}, want: "no first byte of the answer within 100ms"},
	"no header":       {timeouts: llm.Timeouts{First: short, Idle: long, Call: long}, want: "no first byte of the answer within 100ms"},
	"no first byte":   {header: true, timeouts: llm.Timeouts{First: short, Idle: long}, want: "no first byte of the answer within 100ms"},
	"only comments":   {chatter: ": wait\n\n", timeouts: llm.Timeouts{First: short, Idle: long}, want: "no first byte of the answer within 100ms"},
	"stalls amid reasoning": {
		stream: "reasoning", upTo: "think", timeouts: llm.Timeouts{First: long, Idle: short, Call: long},
		want: "nothing more of the answer within 100ms",
	},
	"stalls amid calls": {
		stream: "parallel_tools", upTo: "get_weather", timeouts: llm.Timeouts{First: long, Idle: short},
		want: "nothing more of the answer within 100ms",
	},
	"stalls amid text": {
		stream: "cut", timeouts: llm.Timeouts{First: long, Idle: short}, want: "nothing more of the answer within 100ms", visible: true,
	},
	"endless": {
		stream: "reasoning", upTo: "think", chatter: ": wait\n\n", timeouts: llm.Timeouts{First: long, Idle: long, Call: short},
		want: "no end of the answer within 100ms",
	},
}

// Hang has servers of a dialect hang at each stage of a call, and checks that a
// chain leaves them for the next model.
func Hang(t *testing.T, d Dialect) {
	for name, h := range hangs {
		if d.WholeCalls && name == "stalls amid calls" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h.check(t, d)
		})
	}
}

func (h hang) check(t *testing.T, d Dialect) {
	chain := llm.Chain{Links: []llm.Link{
		{Name: "hangs", Provider: d.New(t, h.serve(t, d)), Timeouts: h.timeouts},
		{Name: "spare", Provider: spare{}},
	}}
	var attempts []llm.Attempt
	a := Read(chain.Stream(t.Context(), ToolRequest(), func(a llm.Attempt) { attempts = append(attempts, a) }))
	if a.Fault != nil {
		t.Error(a.Fault)
	}
	first := llm.AsError(attempts[0].Err)
	if first == nil || !first.TimedOut || first.Code != llm.CodeProviderUnavailable || !strings.Contains(first.Error(), h.want) {
		t.Errorf("hanging model ended with %v, want %q", first, h.want)
	}
	if h.visible {
		if len(attempts) != 1 || a.Err == nil {
			t.Errorf("%d attempts, ended with %v, want the first one's error", len(attempts), a.Err)
		}
		return
	}
	if len(attempts) != 2 || a.Err != nil || a.Message.Text() != "from the spare" || len(a.Message.Parts) != 1 {
		t.Errorf("%d attempts, %v, answer %+v, want the spare's alone", len(attempts), a.Err, a.Message)
	}
}

// serve starts the server and returns its address.
func (h hang) serve(t *testing.T, d Dialect) string {
	if h.unheard {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it accepts nothing
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return "http://" + l.Addr().String()
	}
	start := h.start(t, d)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not find out that the client has left
		if h.header || len(start) > 0 {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(start)
			w.(http.Flusher).Flush()
		}
		h.idle(r.Context(), w)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (h hang) start(t *testing.T, d Dialect) []byte {
	if h.stream == "" {
		return nil
	}
	stream, err := os.ReadFile(filepath.Join(d.Dir, h.stream+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	if h.upTo == "" {
		return stream
	}
	at := bytes.Index(stream, []byte(h.upTo))
	if at < 0 {
		t.Fatalf("%s.sse: no %q", h.stream, h.upTo)
	}
	line := bytes.IndexByte(stream[at:], '\n')
	return append(stream[:at+line+1:at+line+1], '\n')
}

// idle waits for the client to leave.
func (h hang) idle(client context.Context, w http.ResponseWriter) {
	if h.chatter == "" {
		<-client.Done()
		return
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for client.Err() == nil {
		_, _ = io.WriteString(w, h.chatter)
		w.(http.Flusher).Flush()
		<-tick.C
	}
}

// A spare is a model that answers at once.
type spare struct{}

func (spare) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Text: "from the spare", Finish: llm.FinishStop}, nil)
	}
}
