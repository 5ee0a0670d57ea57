package host_test

import (
	"fmt"
	"strings"
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

func TestStale(t *testing.T) {
	t.Parallel()
	for _, queue := range []session.Queue{"", session.Collect, session.Steer, session.Interrupt} {
		for _, do := range []string{agents.StaleDrop, agents.StaleSummarise} {
			t.Run(do+" "+string(queue), func(t *testing.T) {
				t.Parallel()
				const n = 60 // more than a mailbox
				cfg := away(t, agents.Stale{After: time.Nanosecond, Do: do}, queue, n, "ana", "bob")
				h, stop := start(t, cfg)
				waittest.Until(t, "all acknowledged", func() bool { return stored(t, h, bus.OutboundStream) == 2 && ackPending(t, h, "demo") == 0 })
				for _, r := range told(t, h.Bus().NC, 2) {
					if !r.Final || len(r.Merged) != n || r.InReplyTo != r.To+"59" {
						t.Errorf("got %+v", r)
					}
					switch do {
					case agents.StaleDrop:
						if r.Kind != "notice" || !strings.HasPrefix(r.Text, "60 messages ") || !strings.Contains(r.Text, "while I was away") {
							t.Errorf("got %s %q", r.Kind, r.Text)
						}
					case agents.StaleSummarise:
						if r.Kind != "reply" || !strings.HasPrefix(r.Text, "SUM [60 messages ") || !strings.HasSuffix(r.Text, "\n58\n59") {
							t.Errorf("got %s %q", r.Kind, r.Text)
						}
					}
				}
				// All are known by their ids, also after another restart.
				stop()
				h, _ = start(t, cfg)
				publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "ana0", From: "ana", Text: "0"})
				publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "ana30", From: "ana", Text: "30"})
				waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, h, "demo") == 0 && stored(t, h, bus.InboundStream) >= 2*n })
				if got := stored(t, h, bus.OutboundStream); got != 2 {
					t.Errorf("%d replies, want 2", got)
				}
			})
		}
	}
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
