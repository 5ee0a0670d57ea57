package mcp_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A shop is an HTTP server with the tools pay and, safe to repeat, look. Both
// count how often they have run with a text. Those that hold do so until open
// is closed; what comes in the way of a request is up to intercept.
type shop struct {
	t       *testing.T
	url     string
	open    chan struct{}
	holding chan string

	mu        sync.Mutex
	intercept func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler)
	ran       map[string]int
	begun     int // sessions
	handler   http.Handler
}

// A sentCall is what a request asks for.
type sentCall struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments order `json:"arguments"`
	} `json:"params"`
}

type order struct {
	Text string `json:"text,omitempty"`
	Hold bool   `json:"hold,omitempty"`
}

func openShop(t *testing.T) *shop {
	s := &shop{t: t, open: make(chan struct{}), holding: make(chan string, 100), ran: map[string]int{}}
	s.forget()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Cleanup(s.release)
	s.url = srv.URL
	return s
}

// forget replaces the server by one that knows no session.
func (s *shop) forget() {
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "pay"}, s.run)
	sdk.AddTool(server, &sdk.Tool{Name: "look", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, s.run)
	s.t.Cleanup(func() {
		for session := range server.Sessions() {
			session.Close()
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

func (s *shop) run(_ context.Context, _ *sdk.CallToolRequest, in order) (*sdk.CallToolResult, any, error) {
	s.mu.Lock()
	s.ran[in.Text]++
	s.mu.Unlock()
	if in.Hold {
		s.holding <- in.Text
		<-s.open
	}
	return say("did %s", in.Text)
}

func (s *shop) release() {
	select {
	case <-s.open:
	default:
		close(s.open)
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	var sent sentCall
	json.Unmarshal(body, &sent)
	s.mu.Lock()
	if sent.Method == "initialize" {
		s.begun++
	}
	intercept, next := s.intercept, s.handler
	s.mu.Unlock()
	if intercept == nil || req.Method != http.MethodPost {
		next.ServeHTTP(w, req)
		return
	}
	intercept(w, req, sent, next)
}

func (s *shop) intercepts(with func(http.ResponseWriter, *http.Request, sentCall, http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = with
}

// answersOnce lets with answer the first request for the text, and the server all
// others.
func (s *shop) answersOnce(text string, with func(http.ResponseWriter, *http.Request, sentCall, http.Handler)) {
	var once sync.Once
	s.intercepts(func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler) {
		first := false
		if sent.Params.Arguments.Text == text {
			once.Do(func() { first = true })
		}
		if first {
			with(w, req, sent, next)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func (s *shop) counts(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran[text]
}

func (s *shop) sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// A sale is a call of the shop under way.
type sale struct {
	text string
	done chan struct{}
	res  tools.Result
	err  error
}

func sell(tool tools.Tool, o order) *sale {
	s := &sale{text: o.Text, done: make(chan struct{})}
	args, _ := json.Marshal(o)
	go func() {
		defer close(s.done)
		s.res, s.err = tool.Run(context.Background(), call(string(args)))
	}()
	return s
}

// hold begins calls and returns once the server runs them all.
func (s *shop) hold(tool tools.Tool, n int) []*sale {
	var all []*sale
	for i := range n {
		all = append(all, sell(tool, order{Text: fmt.Sprintf("held %d", i), Hold: true}))
	}
	for range n {
		<-s.holding
	}
	return all
}

// wantDid checks that all were answered by the one run they had.
func (s *shop) wantDid(sales ...*sale) {
	s.t.Helper()
	for _, c := range sales {
		<-c.done
		if c.err != nil || c.res != (tools.Result{Text: "did " + c.text}) {
			s.t.Errorf("%s: got %+v, %v", c.text, c.res, c.err)
		}
		if ran := s.counts(c.text); ran != 1 {
			s.t.Errorf("%s ran %d times, want 1", c.text, ran)
		}
	}
}

// wantUnknown checks that all ended without an answer, after one run.
func (s *shop) wantUnknown(sales ...*sale) {
	s.t.Helper()
	for _, c := range sales {
		<-c.done
		if c.err == nil || !strings.Contains(c.err.Error(), "interrupted; its outcome is unknown") {
			s.t.Errorf("%s: got %+v, %v", c.text, c.res, c.err)
		}
		if ran := s.counts(c.text); ran != 1 {
			s.t.Errorf("%s ran %d times, want 1", c.text, ran)
		}
	}
}

func answerStatus(code int, text string) func(http.ResponseWriter, *http.Request, sentCall, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ sentCall, _ http.Handler) { http.Error(w, text, code) }
}

func answerJSON(body string) func(http.ResponseWriter, *http.Request, sentCall, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ sentCall, _ http.Handler) { write(w, true, body, false) }
}

func answerEvent(data string) func(http.ResponseWriter, *http.Request, sentCall, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ sentCall, _ http.Handler) {
		write(w, false, "data: "+data+"\n\n", false)
	}
}

func TestOnlyTheCallThatGot404IsSentAgain(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
	held := s.hold(w.tool("s.pay"), 5)
	s.answersOnce("refused", answerStatus(http.StatusNotFound, "session not found"))
	refused := sell(w.tool("s.pay"), order{Text: "refused"})
	s.wantUnknown(held...)
	s.wantDid(refused)
	s.release()
	w.stop()
	s.wantUnknown(held...) // still
}

// A server that does not know the session any more refuses a batch as a whole.
// Nothing of it has run, so all of it runs in the next session.
func TestBatchThatGot404(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			s := openShop(t)
			w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			pay := w.tool("s.pay")
			const n = 8
			var arrived sync.WaitGroup
			arrived.Add(n)
			old := s.refuseSession(code, false, func() { arrived.Done(); arrived.Wait() })
			var batch []*sale
			for i := range n {
				batch = append(batch, sell(pay, order{Text: fmt.Sprint("batch ", i)}))
			}
			s.wantDid(batch...)
			if old() != n {
				t.Errorf("%d calls in the old session, want %d", old(), n)
			}
			w.stop()
		})
	}
}

// Where a refusal looks like the answer to the call, the call has that answer, and
// those after it a new session.
func TestRefusalThatLooksLikeAnAnswer(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			s := openShop(t)
			w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			s.refuseSession(code, true, func() {})
			first := w.run("s.pay", `{"text":"a"}`)
			if want := (tools.Result{Text: "Bad Request: No valid session ID provided", Failed: true}); first != want {
				t.Errorf("got %+v, want %+v", first, want)
			}
			w.retry(w.tool("s.pay"), `{"text":"b"}`, func(res tools.Result) bool { return res.Text == "did b" })
			if s.counts("a") != 0 || s.counts("b") != 1 {
				t.Errorf("ran %d and %d times, want 0 and 1", s.counts("a"), s.counts("b"))
			}
			w.stop()
		})
	}
}

// refuseSession makes the server refuse what comes in the sessions it has, calls
// after a wait, and returns the number of these. With echo a refusal looks like
// the answer to the request.
func (s *shop) refuseSession(code int, echo bool, wait func()) (calls func() int) {
	var mu sync.Mutex
	known, refused := map[string]bool{}, 0
	s.intercepts(func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler) {
		session := req.Header.Get("Mcp-Session-Id")
		mu.Lock()
		if sent.Method == "notifications/initialized" {
			known[session] = true
		}
		good := session == "" || known[session]
		if !good && sent.Method == "tools/call" {
			refused++
		}
		mu.Unlock()
		if good {
			next.ServeHTTP(w, req)
			return
		}
		if sent.Method == "tools/call" {
			wait()
		}
		id := []byte("null")
		if echo && sent.ID != nil {
			id = sent.ID
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":%s}`, id)
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return refused
	}
}

// What a single request gets is no reason to give up the session, nor to send it
// again. Others in flight do not notice.
func TestStatusIsTheAnswerToOneRequest(t *testing.T) {
	t.Parallel()
	jsonRPC := func(code int, id string) func(http.ResponseWriter, *http.Request, sentCall, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, sent sentCall, _ http.Handler) {
			if id == "" {
				id = string(sent.ID)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such shelf"}}`, id)
		}
	}
	said := tools.Result{Text: "no such shelf", Failed: true}
	const refused, unknown = `call pay of mcp server "s": refused: `, `call pay of mcp server "s": interrupted; its outcome is unknown: `
	tests := map[string]struct {
		answer func(http.ResponseWriter, *http.Request, sentCall, http.Handler)
		want   tools.Result
		err    string // begins with
	}{
		"200 with an error without id":   {jsonRPC(200, "null"), said, ""},
		"200 with an error in a list":    {answerJSON(`[{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such shelf"}}]`), said, ""},
		"200 with a result without id":   {answerJSON(`{"jsonrpc":"2.0","id":null,"result":{}}`), tools.Result{}, unknown + "the answer names no request"},
		"200 with an event without id":   {answerEvent(`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such shelf"}}`), tools.Result{}, unknown},
		"400 with an error":              {jsonRPC(400, ""), said, ""},
		"400 with an error without id":   {jsonRPC(400, "null"), said, ""},
		"400 with an error of no one":    {jsonRPC(400, `"server-error"`), said, ""},
		"400 with a text":                {answerStatus(400, "what?"), tools.Result{}, refused + "400 Bad Request: what?"},
		"404 with an error":              {jsonRPC(404, ""), said, ""},
		"422 with an error":              {jsonRPC(422, ""), said, ""},
		"429 with an error":              {jsonRPC(429, ""), said, ""},
		"500 with an error":              {jsonRPC(500, ""), said, ""},
		"500 with an error without id":   {jsonRPC(500, "null"), tools.Result{}, unknown + "500 Internal Server Error: no such shelf"},
		"401":                            {answerStatus(401, "who?"), tools.Result{}, refused + "401 Unauthorized: who?"},
		"403":                            {answerStatus(403, ""), tools.Result{}, refused + "403 Forbidden"},
		"409":                            {answerStatus(409, ""), tools.Result{}, refused + "409 Conflict"},
		"429":                            {answerStatus(429, ""), tools.Result{}, refused + "429 Too Many Requests"},
		"500":                            {answerStatus(500, ""), tools.Result{}, unknown + "500 Internal Server Error"},
		"501":                            {answerStatus(501, ""), tools.Result{}, unknown + "501 Not Implemented"},
		"502":                            {answerStatus(502, ""), tools.Result{}, unknown + "502 Bad Gateway"},
		"503":                            {answerStatus(503, ""), tools.Result{}, unknown + "503 Service Unavailable"},
		"504":                            {answerStatus(504, ""), tools.Result{}, unknown + "504 Gateway Timeout"},
		"a connection that is cut":       {func(http.ResponseWriter, *http.Request, sentCall, http.Handler) { panic(http.ErrAbortHandler) }, tools.Result{}, unknown},
		"a connection cut after the run": {runThenCut(false), tools.Result{}, unknown},
		"a stream cut after the run":     {runThenCut(true), tools.Result{}, unknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := openShop(t)
			w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			held := s.hold(w.tool("s.pay"), 2)
			var seen int
			s.intercepts(func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler) {
				if sent.Params.Arguments.Text != "one" {
					next.ServeHTTP(w, req)
					return
				}
				s.mu.Lock()
				seen++
				s.mu.Unlock()
				tt.answer(w, req, sent, next)
			})
			one := sell(w.tool("s.pay"), order{Text: "one"})
			<-one.done
			if one.res != tt.want || (one.err == nil) != (tt.err == "") || one.err != nil && !strings.HasPrefix(one.err.Error(), tt.err) {
				t.Errorf("got %+v, %v, want %+v, %q", one.res, one.err, tt.want, tt.err)
			}
			if one.err != nil && strings.Contains(one.err.Error(), s.url) {
				t.Errorf("the address is in the error: %v", one.err)
			}
			s.release()
			s.wantDid(held...)
			s.wantDid(sell(w.tool("s.pay"), order{Text: "next"}))
			s.mu.Lock()
			defer s.mu.Unlock()
			if seen != 1 || s.begun != 1 {
				t.Errorf("sent %d times, in %d sessions, want 1 and 1", seen, s.begun)
			}
		})
	}
}

// runThenCut runs the tool, and cuts the connection before, or amid, the answer.
func runThenCut(amid bool) func(http.ResponseWriter, *http.Request, sentCall, http.Handler) {
	return func(w http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), req)
		if amid {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			fmt.Fprint(w, ": one moment\n\n")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// Where the outcome is unknown, what is safe is run again, and what is not is
// not.
func TestOnlyASafeToolRunsAgain(t *testing.T) {
	t.Parallel()
	cuts := map[string]func(http.ResponseWriter, *http.Request, sentCall, http.Handler){
		"connection cut": runThenCut(false),
		"stream cut":     runThenCut(true),
		"gateway timeout": func(w http.ResponseWriter, req *http.Request, _ sentCall, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), req)
			http.Error(w, "", http.StatusGatewayTimeout)
		},
	}
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			s := openShop(t)
			doubting := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			s.answersOnce("doubted", cut)
			s.wantUnknown(sell(doubting.tool("s.look"), order{Text: "doubted"}))
			w := openOne(t, tools.MCPConfig{URL: s.url, Trust: true}, mcp.Options{})
			s.answersOnce("paid", cut)
			s.wantUnknown(sell(w.tool("s.pay"), order{Text: "paid"}))
			s.answersOnce("looked", cut)
			look := sell(w.tool("s.look"), order{Text: "looked"})
			if <-look.done; look.err != nil || look.res.Text != "did looked" || s.counts("looked") != 2 {
				t.Errorf("got %+v, %v after %d runs, want an answer after 2", look.res, look.err, s.counts("looked"))
			}
		})
	}
}

// Safe calls in flight whose session is gone run again in the next one.
func TestSafeCallsOfAForgottenSession(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := openOne(t, tools.MCPConfig{URL: s.url, Trust: true}, mcp.Options{})
	held := s.hold(w.tool("s.look"), 2)
	s.answersOnce("refused", answerStatus(http.StatusNotFound, ""))
	s.wantDid(sell(w.tool("s.pay"), order{Text: "refused"}))
	for range held {
		<-s.holding // again
	}
	s.release()
	for _, c := range held {
		if <-c.done; c.err != nil || c.res.Text != "did "+c.text || s.counts(c.text) != 2 {
			t.Errorf("%s: got %+v, %v after %d runs", c.text, c.res, c.err, s.counts(c.text))
		}
	}
}

// A server that cannot be reached has not run the call.
func TestUnreachableCallIsUnavailable(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	srv := httptest.NewUnstartedServer(s)
	srv.Config.SetKeepAlivesEnabled(false) // a new connection each time
	srv.Start()
	defer srv.Close()
	w := openOne(t, tools.MCPConfig{URL: srv.URL + "/?key=secret"}, mcp.Options{})
	pay := w.tool("s.pay")
	srv.Listener.Close()
	defer srv.CloseClientConnections()
	one := sell(pay, order{Text: "one"})
	<-one.done
	if one.err == nil || !strings.Contains(one.err.Error(), "unavailable: ") || strings.Contains(one.err.Error(), "secret") {
		t.Errorf("got %+v, %v", one.res, one.err)
	}
	if ran := s.counts("one"); ran != 0 {
		t.Errorf("ran %d times", ran)
	}
}

// Codes that the library uses for itself are answers when a server sends them.
func TestServersOwnCodes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		for i, code := range []int{-32003, -32004, -32005, -32000} {
			w := openOne(t, cfg, mcp.Options{})
			res := w.run("s.code", fmt.Sprintf(`{"code":%d}`, code))
			if want := (tools.Result{Text: "that is the code", Failed: true}); res != want {
				t.Errorf("%d: got %+v, want %+v", code, res, want)
			}
			want := "1"
			if cfg.URL != "" {
				want = fmt.Sprint(i + 1) // one server for all
			}
			if got := w.run("s.codes", `{}`).Text; got != want {
				t.Errorf("%d: ran %s times, want %s", code, got, want)
			}
			w.stop()
		}
	})
}

// A server that says 400 to whatever it does not like knows the session all the
// same: it has listed its tools in it.
func TestServerThatAnswersAlmostEverythingWith400(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"with the id": "", "without id": "null"} {
		t.Run(name, func(t *testing.T) {
			s := openShop(t)
			s.intercepts(func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler) {
				if sent.Method == "initialize" || sent.Method == "tools/list" || len(sent.ID) == 0 {
					next.ServeHTTP(w, req)
					return
				}
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no"}}`, cmp.Or(id, string(sent.ID)))
			})
			w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
			for range 5 {
				if res := w.run("s.pay", `{"text":"a"}`); res != (tools.Result{Text: "no", Failed: true}) {
					t.Fatalf("got %+v", res)
				}
			}
			if n := s.sessions(); n != 1 {
				t.Errorf("%d sessions, want 1", n)
			}
			if faults := w.client().Faults(); len(faults) != 0 {
				t.Errorf("faults: %v", faults)
			}
		})
	}
}

// Many answers of this kind are no failures of the server.
func TestAnswersOf400StartNoPause(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
	s.intercepts(func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler) {
		if sent.Method != "tools/call" {
			next.ServeHTTP(w, req)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, sent.ID)
	})
	for range 20 {
		if res := w.run("s.pay", `{"text":"a"}`); res != (tools.Result{Text: "no", Failed: true}) {
			t.Fatalf("got %+v", res)
		}
	}
	if n := s.sessions(); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	if faults := w.client().Faults(); len(faults) != 0 {
		t.Errorf("faults: %v", faults)
	}
}

// A server that leaves unanswered what it does not know is spoken to as it is used
// to, and the next time at once.
func TestServerThatIsSilentOnTheModernWayToBegin(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	var asked atomic.Int64
	s.intercepts(func(w http.ResponseWriter, req *http.Request, sent sentCall, next http.Handler) {
		if sent.Method == "server/discover" {
			asked.Add(1)
			<-req.Context().Done()
			return
		}
		next.ServeHTTP(w, req)
	})
	w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
	s.wantDid(sell(w.tool("s.pay"), order{Text: "a"}))
	s.forget()
	w.retry(w.tool("s.pay"), `{"text":"b"}`, func(res tools.Result) bool { return res.Text == "did b" })
	if n := asked.Load(); n != 1 || s.sessions() != 2 {
		t.Errorf("asked %d times in %d sessions, want 1 in 2", n, s.sessions())
	}
	w.stop()
}

// A server that knows the modern way is never asked for a session.
func TestModernServerOverHTTP(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	server := newServer(nil)
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	w := openOne(t, tools.MCPConfig{URL: s.url}, mcp.Options{})
	if res := w.run("s.echo", `{"text":"hi"}`); res.Text != "hi" {
		t.Errorf("got %+v", res)
	}
	if n := s.sessions(); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}
	w.stop()
}
