package host_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/internal/waittest"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// away is a configuration whose agent was away while n messages of each person
// came, long enough for them to be stale.
func away(t *testing.T, stale agents.Stale, queue session.Queue, n int, people ...string) *config.Config {
	t.Helper()
	cfg := scripted(t, `rules: [{when: came while you were away, text: "SUM ${text}"}, {text: "${text}"}]`)
	cfg.Agents[0].Channels = nil
	h, stop := start(t, cfg)
	for i := range n {
		for _, p := range people {
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: fmt.Sprint(p, i), From: p, Text: fmt.Sprint(i)})
		}
	}
	waittest.Until(t, "all stored", func() bool { return stored(t, h, bus.InboundStream) == uint64(n*len(people)) })
	stop()
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo", Stale: stale, Queue: queue}}
	return cfg
}

// Stale answers as always when it says so.
func TestStaleAnswer(t *testing.T) {
	t.Parallel()
	h, _ := start(t, away(t, agents.Stale{After: time.Nanosecond, Do: agents.StaleAnswer}, "", 3, "ana"))
	if got := told(t, h.Bus().NC, 3); got[2].Text != "2" {
		t.Errorf("got %+v", got)
	}
}

// told waits for n replies in the stream and reads them.
func told(t *testing.T, nc *nats.Conn, n int) []bus.Outbound {
	t.Helper()
	return kept[bus.Outbound](t, nc, bus.OutboundStream, n)
}
