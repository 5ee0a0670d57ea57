//go:build unix

package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

func (w *world) process() *os.Process {
	w.t.Helper()
	pid, err := strconv.Atoi(w.run("s.pid", `{}`).Text)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestKilledAndBack(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("server"), mcp.Options{})
	first := w.process()
	steps := begin(t.Context(), w.tool("s.steps"))
	<-steps.progress
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	<-steps.done
	if want := "call steps of mcp server \"s\": interrupted; its outcome is unknown: "; steps.err == nil || !strings.HasPrefix(steps.err.Error(), want) {
		t.Errorf("call in flight: got %v", steps.err)
	}
	if second := w.process(); second.Pid == first.Pid {
		t.Error("the dead server answers")
	}
	if faults := w.client().Faults(); len(faults) != 0 {
		t.Errorf("faults: %v", faults)
	}
}

func TestRunEndsEverything(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("server"), mcp.Options{})
	p := w.process()
	steps := begin(t.Context(), w.tool("s.steps"))
	<-steps.progress
	echo := w.tool("s.echo")
	w.stop()
	<-steps.done
	if steps.err == nil {
		t.Errorf("call in flight: got %+v", steps.res)
	}
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the process is there: %v", err)
	}
	if _, err := echo.Run(t.Context(), call(`{}`)); err == nil || !strings.HasSuffix(err.Error(), "unavailable: closed") {
		t.Errorf("call after the end: got %v", err)
	}
}

func TestHelpersGoWithTheirServer(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*world){
		"killed": func(w *world) {
			if err := w.process().Kill(); err != nil {
				w.t.Fatal(err)
			}
		},
		"stopped": func(w *world) { w.stop() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := openOne(t, stdio("server"), mcp.Options{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			w.run("s.helper", `{"text":"`+l.Addr().String()+`"}`)
			helper, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer helper.Close()
			end(w)
			if n, err := helper.Read(make([]byte, 1)); err == nil {
				t.Errorf("read %d bytes of the helper, want its end", n)
			}
		})
	}
}

// A server that ends neither with its input nor when told to is killed.
func TestStubbornServer(t *testing.T) {
	t.Parallel() // it waits
	const script = `exec 3<&0; trap "" TERM; MCP_TEST_ROLE=raw "$0" <&3 & while :; do sleep 1; done`
	w := openOne(t, tools.MCPConfig{Command: []string{"sh", "-c", script, os.Args[0]}}, mcp.Options{})
	if res := w.run("s.last", `{}`); !res.Failed {
		t.Errorf("got %+v", res)
	}
	w.stop()
}

// A restarting is an HTTP server that can be replaced by one without memory.
type restarting struct {
	t       *testing.T
	handler atomic.Pointer[http.Handler]
	down    atomic.Bool
}

func (r *restarting) restart() {
	h := handler(r.t)
	r.handler.Store(&h)
}

func (r *restarting) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.down.Load() {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	(*r.handler.Load()).ServeHTTP(w, req)
}

// badRequest says 400 where the book says 404.
type badRequest struct{ http.ResponseWriter }

func (b badRequest) WriteHeader(code int) {
	if code == http.StatusNotFound {
		code = http.StatusBadRequest
	}
	b.ResponseWriter.WriteHeader(code)
}

func (b badRequest) Flush() { b.ResponseWriter.(http.Flusher).Flush() }

func TestForgottenSession(t *testing.T) {
	t.Parallel()
	tests := map[string]func(http.ResponseWriter) http.ResponseWriter{
		"404": func(w http.ResponseWriter) http.ResponseWriter { return w },
		"400": func(w http.ResponseWriter) http.ResponseWriter { return badRequest{w} },
	}
	for name, wrap := range tests {
		t.Run(name, func(t *testing.T) {
			r := &restarting{t: t}
			r.restart()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.ServeHTTP(wrap(w), req) }))
			t.Cleanup(srv.Close)
			w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{})
			w.run("s.echo", `{"text":"a"}`)
			r.restart()
			if res := w.run("s.echo", `{"text":"b"}`); res.Text != "b" {
				t.Errorf("got %+v", res)
			}
			w.stop()
		})
	}
}

func TestHTTPServerDownAndBack(t *testing.T) {
	t.Parallel()
	r := &restarting{t: t}
	r.restart()
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{})
	steps := begin(t.Context(), w.tool("s.steps"))
	<-steps.progress
	r.down.Store(true)
	srv.CloseClientConnections()
	<-steps.done
	if steps.err == nil {
		t.Errorf("call in flight: got %+v", steps.res)
	}
	echo := w.tool("s.echo")
	if _, err := echo.Run(t.Context(), call(`{"text":"a"}`)); err == nil {
		t.Error("a server that is down answers")
	}
	r.restart()
	r.down.Store(false)
	w.retry(echo, `{"text":"b"}`, func(res tools.Result) bool { return res.Text == "b" })
	w.stop()
}

// A call that waits for a tool waits through the attempts to reach its server,
// as after a restart of both.
func TestAwaitToolOfAServerThatIsDown(t *testing.T) {
	t.Parallel()
	r := &restarting{t: t}
	r.restart()
	r.down.Store(true)
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{})
	if list := w.client().Tools(); len(list) != 0 {
		t.Fatalf("a server that is down has %v", names(list))
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	err := w.client().AwaitTool(canceled, "s.echo")
	if err == nil || errors.Is(err, tools.ErrNoTool) || !strings.HasPrefix(err.Error(), `mcp server "s": `) {
		t.Errorf("while it is down: got %v", err)
	}
	found := make(chan error, 1)
	go func() { found <- w.client().AwaitTool(t.Context(), "s.echo") }()
	r.down.Store(false)
	if err := <-found; err != nil {
		t.Fatal(err)
	}
	if res := w.run("s.echo", `{"text":"a"}`); res.Text != "a" {
		t.Errorf("got %+v", res)
	}
	for _, name := range []string{"s.nothing", "echo", "s2.echo"} {
		if err := w.client().AwaitTool(t.Context(), name); !errors.Is(err, tools.ErrNoTool) {
			t.Errorf("%s: got %v, want %v", name, err, tools.ErrNoTool)
		}
	}
	w.stop()
	if err := w.client().AwaitTool(t.Context(), "s.echo"); err == nil || errors.Is(err, tools.ErrNoTool) {
		t.Errorf("after the end: got %v", err)
	}
}

func TestRedirectWithinTheServerIsFollowed(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/mcp/", handler(t))
	mux.Handle("/mcp", http.RedirectHandler("/mcp/", http.StatusTemporaryRedirect))
	mux.Handle("/", http.RedirectHandler("/", http.StatusTemporaryRedirect))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL + "/mcp"}, mcp.Options{})
	if faults := w.client().Faults(); len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	w = openOne(t, tools.MCPConfig{URL: srv.URL + "/circle"}, mcp.Options{})
	if faults := w.client().Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "redirects without end") {
		t.Errorf("a circle: faults: %v", faults)
	}
}

// A server does not choose what the host sends requests to.
func TestRedirectToAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(elsewhere.Close)
	var sent atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		sent.Store(req.Header.Get("X-Key"))
		http.Redirect(w, req, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL, Headers: map[string]string{"X-Key": "secret"}}, mcp.Options{})
	if got := sent.Load(); got != "secret" {
		t.Errorf("header: got %v, want %q", got, "secret")
	}
	if asked.Load() {
		t.Error("the redirect was followed")
	}
	if faults := w.client().Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "redirects to "+elsewhere.URL+", which is not followed: ") {
		t.Errorf("faults: %v", faults)
	}
}

// A server that does not end its message is not listened to for ever.
func TestEndlessMessage(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for part := bytes.Repeat([]byte(" "), 1<<20); ; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{})
	if faults := w.client().Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "the answer is longer than 16 MiB") {
		t.Errorf("faults: %v", faults)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SOME_API_KEY", "secret")
	cfg := stdio("server")
	cfg.Env["GIVEN"] = "this"
	w := openOne(t, cfg, mcp.Options{})
	env := strings.Split(w.run("s.environment", `{}`).Text, "\n")
	if !slices.Contains(env, "GIVEN=this") || !slices.Contains(env, "PATH="+os.Getenv("PATH")) {
		t.Errorf("environment: %v, want GIVEN and PATH in it", env)
	}
	if slices.Contains(env, "SOME_API_KEY=secret") {
		t.Error("a key of the host is in the environment")
	}
}

// A server that has no stream of its own and does not say so is usable all the
// same.
func TestSilentStream(t *testing.T) {
	t.Parallel() // it waits
	h := handler(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
			return
		}
		h.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{})
	if res := w.run("s.echo", `{"text":"a"}`); res.Text != "a" {
		t.Errorf("got %+v", res)
	}
	w.stop()
}

// pause makes p, a child, do nothing until it is killed. On a busy machine it
// does something for a while after the signal.
func pause(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("process %d is not stopped: status %v, %v", p.Pid, status, err)
	}
}

// A server that is configured as before goes on, under another name too; one that
// is not configured any more ends.
func TestOtherServers(t *testing.T) {
	w := openOne(t, stdio("server"), mcp.Options{})
	first := w.process()
	other := stdio("server")
	other.Env["OTHER"] = "1"
	clients, apply := w.pool.Change(map[string]tools.MCPConfig{"s": stdio("server"), "new": other})
	apply()
	if same := clients[1].Tools(); len(same) == 0 || w.pool.Clients()[1] != clients[1] {
		t.Errorf("the server that goes on has %v", names(same))
	}
	clients[0].Await(t.Context())
	if list := clients[0].Tools(); len(list) == 0 || list[0].Source == "" {
		t.Errorf("the new server has %v; faults %v", names(list), clients[0].Faults())
	}
	_, apply = w.pool.Change(map[string]tools.MCPConfig{"new": other})
	apply()
	w.until("the server is gone", func() bool { return len(clients[1].Tools()) == 0 })
	w.stop() // waits for its process
	if err := first.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the process is there: %v", err)
	}
}
