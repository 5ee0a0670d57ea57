//go:build long

package host_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
)

// What is over the rate is answered, all of it and in order, with one notice.
func TestRateWaits(t *testing.T) {
	t.Parallel()
	// One message every 200 ms. If the machine pauses for longer while they arrive, one is within
	// the rate again, and the next that is not gets a second notice.
	h, _ := start(t, bound(t, agents.Binding{Rate: agents.Rate{Messages: 20, Per: 4 * time.Second}}))
	var ids []string
	for i := range 60 { // more than a mailbox
		ids = append(ids, fmt.Sprintf("m%02d", i))
	}
	write(t, h, "ana", ids...)
	write(t, h, "bob", "b1")
	waittest.Until(t, "all answered", func() bool { return stored(t, h, bus.OutboundStream) >= 62 })
	allDone(t, h, 61)
	var replies []string
	notices := 0
	for _, out := range published(t, h) {
		switch {
		case out.Kind == bus.KindNotice && out.To == "ana":
			notices++
		case out.To == "ana":
			replies = append(replies, out.Text)
		}
	}
	if !slices.Equal(replies, ids) || notices != 1 {
		t.Errorf("%d notices, replies %q", notices, replies)
	}
}
