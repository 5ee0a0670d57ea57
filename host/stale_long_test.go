//go:build long

package host_test

import (
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/session"
)

// What came in time is answered, behind what did not.
func TestStaleAndFresh(t *testing.T) {
	t.Parallel()
	const after = 5 * time.Second // the fresh one may wait for a busy machine
	cfg := away(t, agents.Stale{After: after, Do: agents.StaleDrop}, "", 3, "ana")
	sent := time.Now()
	waittest.Until(t, "stale", func() bool { return time.Since(sent) > after })
	h, _ := start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "fresh", From: "ana", Text: "fresh"})
	got := told(t, h.Bus().NC, 2)
	if got[0].Kind != "notice" || len(got[0].Merged) != 3 || got[1].Kind != "reply" || got[1].Text != "fresh" || got[1].InReplyTo != "fresh" {
		t.Errorf("got %+v", got)
	}
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
