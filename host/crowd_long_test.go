//go:build long

package host_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/host"
	"agenthost/internal/waittest"
)

// A crowd writes at once: 10,000 people in the long form.
func crowd() int {
	if os.Getenv("AGENTHOST_CHAOS") == "1" {
		return 10_000
	}
	return 1000
}

// crowded is a host whose demo agent has one binding, for a crowd.
func crowded(t *testing.T, b agents.Binding) *host.Host {
	t.Helper()
	cfg := demo(t)
	b.Channel = "demo"
	cfg.Agents[0].Channels = []agents.Binding{b}
	return startWith(t, host.Options{Config: cfg, Log: zerolog.Nop()})
}

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

// Of a crowd of strangers few get a notice and fewer a code, and the host holds little
// of them. Not in parallel: it weighs the heap.
func TestCrowdOfStrangers(t *testing.T) {
	h := crowded(t, agents.Binding{Senders: agents.Senders{Pairing: true}})
	before := heapInUse()
	flood(t, h, crowd(), "stranger", 0)
	grown := heapInUse() - before
	notices, codes := 0, map[string]bool{}
	for _, out := range published(t, h) {
		if out.Kind != bus.KindNotice {
			t.Errorf("a stranger got %+v", out)
		}
		notices++
		if code := pairingCode.FindString(out.Text); code != "" {
			codes[code] = true
		}
	}
	if notices == 0 || notices > 1000 || len(codes) == 0 || len(codes) > 100 {
		t.Errorf("%d strangers got %d notices and %d codes, want at most 1,000 and 100", crowd(), notices, len(codes))
	}
	if grown > 20<<20 {
		t.Errorf("the heap has grown by %.0f bytes", grown)
	}
	t.Logf("%d strangers: %d notices, %d codes, %.1f MB of heap", crowd(), notices, len(codes), grown/(1<<20))
}
