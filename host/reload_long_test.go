//go:build long

package host_test

import (
	"context"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
)

// An agent that is not configured any more finishes its runs, and takes nothing
// new. What comes on its channel meanwhile waits for an agent.
func TestReloadRemovesAnAgent(t *testing.T) {
	t.Parallel()
	ana, bob := "{id: ana, channels: [web]}", "{id: bob, channels: [tel]}"
	r := startReloadable(t, "", oldModels+"agents: ["+ana+", "+bob+"]\n", nil)
	nc := r.Bus().NC
	stopped, err := nc.SubscribeSync("agent.events.bob.stopped")
	if err != nil {
		t.Fatal(err)
	}
	sub, err := nc.SubscribeSync("plugin.outbound.tel")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "plugin.inbound.tel", bus.Inbound{ID: "1", From: "eve", Text: "slow"})
	waittest.Until(t, "bob works", func() bool { return running(t, r.Host, "bob") })
	r.must(oldModels+"agents: ["+ana+"]\n", "agent bob: removed")
	if running(t, r.Host, "bob") {
		t.Error("bob is still among the agents")
	}
	publish(t, nc, "plugin.inbound.tel", bus.Inbound{ID: "2", From: "eve", Text: "hi"})
	if reply := next(t, sub); reply.InReplyTo != "1" || reply.Text != "old" {
		t.Errorf("got %+v, want the answer to 1", reply)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	if _, err := stopped.NextMsgWithContext(ctx); err != nil {
		t.Errorf("the agent does not end: %v", err)
	}
	waittest.Until(t, "the second waits", func() bool { return ackPending(t, r.Host, "bob") == 1 })
	if n := stored(t, r.Host, bus.OutboundStream); n != 1 {
		t.Errorf("got %d replies, want 1", n)
	}
	r.must(oldModels+"agents: ["+ana+", "+bob+"]\n", "agent bob: added")
	publish(t, nc, "plugin.inbound.tel", bus.Inbound{ID: "3", From: "eve", Text: "hi"})
	for _, id := range []string{"2", "3"} {
		if reply := next(t, sub); reply.InReplyTo != id || reply.Text != "old" {
			t.Errorf("got %+v, want the answer to %s", reply, id)
		}
	}
	waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, r.Host, "bob") == 0 })
}

// A channel goes over to another agent, on hosts that learn of it one after the
// other: each message is answered once, by one agent.
func TestRollingMove(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"blue", "green"} {
		t.Run(first+" first", func(t *testing.T) { t.Parallel(); rollingMove(t, first) })
	}
}
