//go:build long

package host_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
)

// Each of a crowd has a rate of its own: one message is answered, the next refused.
func TestCrowdOverItsRate(t *testing.T) {
	h := crowded(t, agents.Binding{Rate: agents.Rate{Messages: 1, Per: time.Hour, Over: agents.RateRefuse}})
	for round := range 2 {
		flood(t, h, crowd(), "ana", round)
	}
	waittest.Until(t, "everybody has two answers", func() bool { return stored(t, h, bus.OutboundStream) >= uint64(2*crowd()) })
	got := map[string]string{}
	for _, out := range published(t, h) {
		word := out.Kind
		if out.Error != nil {
			word = out.Error.Code
		}
		got[out.To] += word + " "
	}
	for i := range crowd() {
		if name := fmt.Sprintf("ana%d", i); got[name] != "reply rate_limited " {
			t.Errorf("%s got %q", name, got[name])
		}
	}
	if len(got) != crowd() {
		t.Errorf("%d people got something, want %d", len(got), crowd())
	}
}
