//go:build long

package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/config"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// Many prompts at once, the host killed in the middle: the program of the editor joins
// the next life, and each prompt gets the one answer of the one run.
func TestHostKilledUnderPrompts(t *testing.T) {
	t.Parallel()
	n := doorstest.Many()
	p := doorstest.StartProcess(t)
	cfg, err := config.Load(p.File)
	if err != nil {
		t.Fatal(err)
	}
	var c *client.Client
	waittest.Until(t, "the host", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if c, err = client.Connect(ctx, cfg.NATS, client.Options{Log: zerolog.Nop()}); err != nil {
			return false
		}
		if hosts, err := c.HostsOf(ctx, "ana"); err != nil || len(hosts) == 0 {
			c.Close()
			return false
		}
		return true
	})
	t.Cleanup(c.Close)
	e := edit(t, &doorstest.Host{Client: c})
	e.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	sessions, texts := make([]string, n), map[string]string{}
	for i := range n {
		var r struct{ SessionID string }
		e.call("session/new", map[string]any{"cwd": "/", "mcpServers": []any{}}, &r)
		sessions[i] = r.SessionID
	}
	of := map[string]int{} // which prompt a request is
	send := func(i int) {
		params := prompt(sessions[i], fmt.Sprintf("text %d", i))
		params["_meta"] = map[string]any{"agenthost/id": fmt.Sprint(i)}
		of[e.send("session/prompt", params)] = i
	}
	sent := make(chan struct{})
	go func() { // what is written has to be read at the same time
		defer close(sent)
		for i := range n {
			send(i)
		}
	}()
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for deadline := bustest.Context(t); deadline.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if all, _ := p.Model.Asked(); all > n/3 {
				break
			}
		}
		p.Kill()
		p.Start()
	}()
	for answered := 0; answered < n; {
		m := e.read()
		switch {
		case m.Method == "session/update":
			var u struct {
				SessionID string
				Update    struct{ Content struct{ Text string } }
			}
			if err := json.Unmarshal(m.Params, &u); err != nil {
				t.Fatal(err)
			}
			texts[u.SessionID] += u.Update.Content.Text
		case m.Error != nil:
			<-sent
			if !strings.Contains(m.Error.Message, "try again") {
				t.Fatalf("got %+v", m.Error)
			}
			send(of[string(m.ID)])
		default:
			answered++
		}
	}
	<-killed
	for i, s := range sessions {
		if want := fmt.Sprintf("said text %d", i); texts[s] != want {
			t.Errorf("prompt %d: got %q", i, texts[s])
		}
	}
	p.OneRunEach(n)
}
