package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/tools"
	"agenthost/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A world is a running pool.
type world struct {
	t       *testing.T
	pool    *mcp.Pool
	changed chan struct{}
	stop    func() // ends the pool and waits for it
}

func open(t *testing.T, servers map[string]tools.MCPConfig, opts mcp.Options) *world {
	t.Helper()
	opts.Log = bustest.Log(t)
	return openLogged(t, servers, opts)
}

// openLogged is open with the log of opts.
func openLogged(t *testing.T, servers map[string]tools.MCPConfig, opts mcp.Options) *world {
	t.Helper()
	w := &world{t: t, changed: make(chan struct{}, 1000)}
	opts.Changed = func() { w.changed <- struct{}{} }
	if opts.Patience == 0 {
		opts.Patience = time.Minute // a loaded machine is slow
	}
	w.pool = mcp.NewPool(servers, opts)
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() {
		if err := w.pool.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	w.stop = sync.OnceFunc(func() { cancel(); run.Wait() })
	t.Cleanup(w.stop)
	return w
}

// openOne is open with one server, named s, that is waited for.
func openOne(t *testing.T, cfg tools.MCPConfig, opts mcp.Options) *world {
	t.Helper()
	w := open(t, map[string]tools.MCPConfig{"s": cfg}, opts)
	w.pool.Await(t.Context())
	return w
}

func (w *world) client() *mcp.Client { return w.pool.Clients()[0] }

// until waits, change by change, for ok.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for !ok() {
		select {
		case <-w.changed:
		case <-time.After(time.Minute):
			w.t.Fatalf("never: %s; tools %v, faults %v", what, names(w.client().Tools()), w.client().Faults())
		}
	}
}

// retry calls until it works, and says the answer is ok. What comes back as it was
// is no change.
func (w *world) retry(tool tools.Tool, args string, ok func(tools.Result) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		res, err := tool.Run(ctx, call(args))
		if err == nil && ok(res) {
			return
		}
		if ctx.Err() != nil {
			w.t.Fatalf("never: an answer of %s; the last: %+v, %v", tool.Name, res, err)
		}
	}
}

func (w *world) tool(name string) tools.Tool {
	w.t.Helper()
	list := w.client().Tools()
	i := slices.IndexFunc(list, func(t tools.Tool) bool { return t.Name == name })
	if i < 0 {
		w.t.Fatalf("no tool %s in %v; faults: %v", name, names(list), w.client().Faults())
	}
	return list[i]
}

func (w *world) try(name, args string) (tools.Result, error) {
	w.t.Helper()
	return w.tool(name).Run(w.t.Context(), call(args))
}

func (w *world) run(name, args string) tools.Result {
	w.t.Helper()
	res, err := w.try(name, args)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

func call(args string) tools.Call {
	return tools.Call{ID: "c1", Args: json.RawMessage(args), Progress: func(string) {}}
}

// A pending call is one that is running.
type pending struct {
	progress chan string
	done     chan struct{}
	res      tools.Result
	err      error
}

func begin(ctx context.Context, tool tools.Tool) *pending {
	p := &pending{progress: make(chan string, 100), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.res, p.err = tool.Run(ctx, tools.Call{ID: "c2", Progress: func(text string) { p.progress <- text }})
	}()
	return p
}

func names(list []tools.Tool) []string {
	var all []string
	for _, t := range list {
		all = append(all, t.Name)
	}
	return all
}

// stdio is this test binary in a role.
func stdio(role string) tools.MCPConfig {
	return tools.MCPConfig{Command: []string{os.Args[0]}, Env: map[string]string{roleVariable: role}}
}

// overHTTP serves a server of its own until the test ends.
func overHTTP(t *testing.T) tools.MCPConfig {
	t.Helper()
	srv := httptest.NewServer(handler(t))
	t.Cleanup(srv.Close)
	return tools.MCPConfig{URL: srv.URL}
}

// handler is a new server for HTTP that ends with the test.
func handler(t *testing.T) http.Handler {
	quit := make(chan struct{})
	s := newServer(quit)
	t.Cleanup(func() {
		close(quit)
		for session := range s.Sessions() {
			session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{MaxRequestBodyBytes: 16 << 20})
}

// both runs test over stdio and over HTTP.
func both(t *testing.T, test func(t *testing.T, cfg tools.MCPConfig)) {
	t.Run("stdio", func(t *testing.T) { test(t, stdio("server")) })
	t.Run("http", func(t *testing.T) { test(t, overHTTP(t)) })
}
