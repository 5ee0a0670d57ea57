package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agenthost/tools"
	"agenthost/tools/mcp"

	"github.com/google/go-cmp/cmp"
)

func TestToolsAreListed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		cfg.Trust = true
		w := openOne(t, cfg, mcp.Options{})
		echo := w.tool("s.echo")
		want := tools.Tool{Name: "s.echo", Description: "Says it again.", Source: `mcp server "s"`, ReadOnly: true, Rerun: true}
		schema := string(echo.Schema)
		echo.Run, echo.Schema = nil, nil
		if diff := cmp.Diff(want, echo); diff != "" {
			t.Errorf("echo (-want +got):\n%s", diff)
		}
		if !strings.Contains(schema, `"text":{"type":"string"}`) {
			t.Errorf("schema of echo: %s", schema)
		}
		if put := w.tool("s.put"); put.ReadOnly || !put.Rerun {
			t.Errorf("put: %+v, want it to be safe to run again", put)
		}
		if replace := w.tool("s.replace"); replace.ReadOnly || replace.Rerun {
			t.Errorf("replace: %+v, want nothing to be said of it", replace)
		}
		if name := w.client().Name(); name != `mcp server "s"` {
			t.Errorf("name: got %q", name)
		}
		if faults := w.client().Faults(); len(faults) > 0 {
			t.Errorf("faults: %v", faults)
		}
	})
}

// What a server says of its own tools is believed of one that the configuration
// trusts, and of no other. The same server may go by both kinds of name.
func TestTrustedServerSaysWhatIsHarmless(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		cfg.Resources = true
		trusted := cfg
		trusted.Trust = true
		w := open(t, map[string]tools.MCPConfig{"doubted": cfg, "trusted": trusted}, mcp.Options{})
		w.pool.Await(t.Context())
		type traits struct{ ReadOnly, Rerun bool }
		got := map[string]traits{}
		for _, c := range w.pool.Clients() {
			for _, tool := range c.Tools() {
				got[tool.Name] = traits{tool.ReadOnly, tool.Rerun}
			}
		}
		for name, want := range map[string]traits{
			"doubted.echo": {}, "doubted.put": {}, "doubted.replace": {}, "doubted.list_resources": {true, true},
			"trusted.echo": {true, true}, "trusted.put": {false, true}, "trusted.replace": {}, "trusted.list_resources": {true, true},
		} {
			if have, ok := got[name]; !ok || have != want {
				t.Errorf("%s: got %+v, %t, want %+v", name, have, ok, want)
			}
		}
	})
}

// A server goes on where only the trust in it has changed.
func TestTrustThatChangesStartsNoServer(t *testing.T) {
	t.Parallel()
	cfg := stdio("server")
	w := openOne(t, cfg, mcp.Options{})
	before := w.run("s.pid", `{}`)
	for _, trust := range []bool{true, false} {
		cfg.Trust = trust
		_, apply := w.pool.Change(map[string]tools.MCPConfig{"s": cfg})
		apply()
		if echo := w.tool("s.echo"); echo.ReadOnly != trust || echo.Rerun != trust {
			t.Errorf("trust %t: %+v", trust, echo)
		}
	}
	if after := w.run("s.pid", `{}`); after.Text != before.Text {
		t.Errorf("process %s, before %s", after.Text, before.Text)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		w := openOne(t, cfg, mcp.Options{})
		steps := begin(t.Context(), w.tool("s.steps"))
		for _, want := range []string{"1 of 3", "2 of 3", "almost"} {
			if got := <-steps.progress; got != want {
				t.Errorf("progress: got %q, want %q", got, want)
			}
		}
		w.run("s.proceed", `{}`)
		<-steps.done
		if steps.err != nil || steps.res.Text != "stepped" {
			t.Errorf("got %+v, %v", steps.res, steps.err)
		}
	})
}

func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		w := openOne(t, cfg, mcp.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		steps := begin(ctx, w.tool("s.steps"))
		for range 3 { // then it waits
			<-steps.progress
		}
		cancel()
		<-steps.done
		if !errors.Is(steps.err, context.Canceled) {
			t.Errorf("got %v, want %v", steps.err, context.Canceled)
		}
		if res := w.run("s.cancelled", `{}`); res.Text != "it was" {
			t.Errorf("got %+v", res)
		}
	})
}

func TestListChanges(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		w := openOne(t, cfg, mcp.Options{})
		before := w.client().Version()
		w.run("s.grow", `{}`)
		w.until("s.grown", func() bool { return slices.Contains(names(w.client().Tools()), "s.grown") })
		if w.client().Version() == before {
			t.Error("the version is as before")
		}
		if res := w.run("s.grown", `{}`); res.Text != "new" {
			t.Errorf("got %+v", res)
		}
	})
}

// Nothing is started before it is needed, and names with equal settings share
// what is.
func TestLazyAndShared(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]tools.MCPConfig{"a": stdio("server"), "b": stdio("server"), "never": {Command: []string{"no such command"}}}, mcp.Options{})
	clients := w.pool.Clients()
	a, b, never := clients[0], clients[1], clients[2]
	if got := never.Version(); got != 0 || len(never.Faults()) != 0 {
		t.Errorf("not needed, yet version %d, faults %v", got, never.Faults())
	}
	a.Await(t.Context())
	pid := func(c *mcp.Client) string {
		list := c.Tools()
		i := slices.IndexFunc(list, func(t tools.Tool) bool { return strings.HasSuffix(t.Name, ".pid") })
		res, err := list[i].Run(t.Context(), call(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		return list[i].Name + " " + res.Text
	}
	first, second := pid(a), pid(b)
	if strings.TrimPrefix(first, "a.pid ") != strings.TrimPrefix(second, "b.pid ") {
		t.Errorf("two processes: %s, %s", first, second)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cfg  tools.MCPConfig
		want string
	}{
		"no such command": {tools.MCPConfig{Command: []string{"no-such-command"}}, `start "no-such-command": exec:`},
		"ends at once":    {tools.MCPConfig{Command: []string{"sh", "-c", "echo bad key >&2; exit 3"}}, "begin a session: server has ended: exit status 3: bad key"},
		"ends well":       {tools.MCPConfig{Command: []string{"true"}}, "begin a session: server has ended"},
		"neither":         {tools.MCPConfig{}, "neither command nor url"},
		"nobody there":    {tools.MCPConfig{URL: "http://127.0.0.1:1/mcp"}, "begin a session: "},
		"no URL":          {tools.MCPConfig{URL: "http://[::1"}, `parse "http://[::1"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := openOne(t, tt.cfg, mcp.Options{})
			if list := w.client().Tools(); len(list) != 0 {
				t.Errorf("tools: %v", names(list))
			}
			faults := w.client().Faults()
			if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), `mcp server "s": `+tt.want) {
				t.Errorf("faults: %v, want %s", faults, tt.want)
			}
		})
	}
}

// What is no server is told by what it says, whether it waits or ends.
func TestProgramThatIsNoServer(t *testing.T) {
	t.Parallel()
	const says = "; on its standard output, where only JSON-RPC messages belong, it says: hello"
	for script, want := range map[string]string{
		"echo hello; cat >/dev/null":      "has not answered yet" + says,
		"echo hello; echo no >&2; exit 2": "begin a session: server has ended: exit status 2: no" + says,
		"echo hello":                      "begin a session: server has ended" + says,
		"exit 0":                          "begin a session: server has ended",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := open(t, map[string]tools.MCPConfig{"s": {Command: []string{"sh", "-c", script}}}, mcp.Options{})
			go w.pool.Await(t.Context())
			w.until(want, func() bool {
				faults := w.client().Faults()
				return len(faults) == 1 && faults[0].Error() == `mcp server "s": `+want
			})
		})
	}
}

// A server that takes its time is left out, and there once it is up.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate }))
	defer srv.Close()
	cfg := stdio("server")
	cfg.Env[gateVariable] = srv.URL
	w := openOne(t, cfg, mcp.Options{Patience: time.Millisecond})
	if list := w.client().Tools(); len(list) != 0 {
		t.Errorf("tools: %v", names(list))
	}
	faults := fmt.Sprint(w.client().Faults())
	if want := `[mcp server "s": has not answered yet]`; faults != want {
		t.Errorf("faults: got %s, want %s", faults, want)
	}
	close(gate)
	w.until("up", func() bool { return len(w.client().Tools()) > 0 && len(w.client().Faults()) == 0 })
}

// A call does not wait for long for a server that takes its time to come back.
func TestSlowToComeBack(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{}, 1)
	gate <- struct{}{}
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate }))
	defer srv.Close()
	cfg := stdio("server")
	cfg.Env[gateVariable] = srv.URL
	w := openOne(t, cfg, mcp.Options{Patience: 100 * time.Millisecond})
	w.until("up", func() bool { return len(w.client().Tools()) > 0 })
	pid := w.tool("s.pid")
	for killed := false; ; {
		res, err := pid.Run(t.Context(), call(`{}`))
		if err != nil && strings.HasSuffix(err.Error(), "unavailable: has not answered yet") {
			break
		}
		if !killed && err == nil {
			kill(t, res.Text)
			killed = true
		}
	}
	close(gate)
	w.retry(pid, `{}`, func(tools.Result) bool { return true })
}

func kill(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(number)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate }))
	defer srv.Close()
	defer close(gate)
	cfg := stdio("server")
	cfg.Env[gateVariable] = srv.URL
	w := open(t, map[string]tools.MCPConfig{"s": cfg}, mcp.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.pool.Await(ctx)
}

func TestOddServer(t *testing.T) {
	t.Parallel()
	p := &person{}
	w := openOne(t, stdio("raw"), mcp.Options{Ask: p.ask})
	if got, want := names(w.client().Tools()), []string{"s.ask", "s.stuck", "s.visit", "s.break", "s.last"}; !slices.Equal(got, want) {
		t.Errorf("tools: got %v, want %v", got, want)
	}
	p.answers = []string{"yes"}
	if res := w.run("s.ask", `{}`); res.Text != "accept" {
		t.Errorf("ask: got %+v", res)
	}
	if res := w.run("s.visit", `{}`); res.Text != "decline" {
		t.Errorf("visit: got %+v", res)
	}
	if res := w.run("s.last", `{}`); !res.Failed || res.Text != "no such tool" {
		t.Errorf("last: got %+v", res)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stuck := begin(ctx, w.tool("s.stuck"))
	if got := <-stuck.progress; got != "1" {
		t.Errorf("progress: got %q", got)
	}
	cancel()
	<-stuck.done
	if !errors.Is(stuck.err, context.Canceled) {
		t.Errorf("stuck: got %v", stuck.err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := w.tool("s.stuck").Run(ctx, call(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stuck: got %v", err)
	}
	p.answers = []string{"no"}
	if res := w.run("s.ask", `{}`); res.Text != "decline" {
		t.Errorf("ask after it: got %+v", res)
	}
}

func TestModernServer(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("modern"), mcp.Options{})
	if res := w.run("s.new", `{}`); res.Text != "modern" {
		t.Errorf("got %+v", res)
	}
}

// A script is a server that answers its requests with results, one by one, and
// then nothing.
func script(results ...string) tools.MCPConfig {
	lines := []string{`read line`}
	for id, result := range results {
		lines = append(lines, fmt.Sprintf(`echo '{"jsonrpc":"2.0","id":%d,%s}'; read line`, id+1, result))
		if id == 0 {
			lines = append(lines, `read line`) // notifications/initialized
		}
	}
	lines = append(lines, `cat >/dev/null`)
	return tools.MCPConfig{Command: []string{"sh", "-c", strings.Join(lines, "\n")}}
}

const welcome = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"n","version":"1"}}`

func TestLists(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		fault  string
	}{
		"no tools at all": {`"error":{"code":-32601,"message":"method not found"}`, ""},
		"no list":         {`"error":{"code":-32603,"message":"out of order"}`, `mcp server "s": list tools: calling "tools/list": out of order`},
		"no end":          {`"result":{"tools":[],"nextCursor":"again"}`, `mcp server "s": list tools: the list does not end after 0`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := openOne(t, script(welcome, tt.answer), mcp.Options{})
			if list := w.client().Tools(); len(list) != 0 {
				t.Errorf("tools: %v", names(list))
			}
			var got string
			for _, f := range w.client().Faults() {
				got += f.Error()
			}
			if got != tt.fault {
				t.Errorf("faults: got %q, want %q", got, tt.fault)
			}
		})
	}
}

// A server that says its tools have changed, and does not list them then, keeps
// those it had.
func TestChangeThatIsNotListed(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("raw"), mcp.Options{})
	before := names(w.client().Tools())
	w.run("s.break", `{}`)
	if after := names(w.client().Tools()); !slices.Equal(before, after) {
		t.Errorf("tools: got %v, want %v", after, before)
	}
}
