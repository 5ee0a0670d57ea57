//go:build long

package host_test

import (
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
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
