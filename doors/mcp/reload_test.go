package mcp_test

import (
	"context"
	"testing"

	"agenthost/agents"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/doors/doorstest"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Agents that come and go by a reload are tools that come and go, and clients are told.
func TestAgentsComeAndGo(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	next := *cfg
	h, _ := hosttest.Start(t, host.Options{Config: cfg, Log: hosttest.Log(t), Load: func() (*config.Config, error) {
		c := next
		return &c, nil
	}})
	changed := make(chan struct{}, 10)
	s := connect(t, &doorstest.Host{Host: h}, versions[0], &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	})
	reload := func(want ...string) {
		t.Helper()
		if r := h.Reload(bustest.Context(t), "test"); r.Error != "" {
			t.Fatalf("got %+v", r)
		}
		waittest.For(t, "a notification", changed)
		list, err := s.ListTools(bustest.Context(t), nil)
		if err != nil || len(list.Tools) != len(want) {
			t.Fatalf("got %+v, %v, want %q", list, err, want)
		}
		for i, tool := range list.Tools {
			if tool.Name != want[i] {
				t.Errorf("got %s, want %s", tool.Name, want[i])
			}
		}
	}
	bob := config.Agent{}
	bob.ID, bob.Model = "bob", agents.Names{"main"}
	next.Agents = append(append([]config.Agent{}, cfg.Agents...), bob)
	reload("ana", "bob")
	if res, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{Name: "bob", Arguments: map[string]any{"text": "hi"}}); err != nil || res.IsError {
		t.Errorf("got %+v, %v", res, err)
	}
	next.Agents = cfg.Agents
	reload("ana")
}
