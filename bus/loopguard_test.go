package bus_test

import (
	"testing"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestChainOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		subject string
		header  []string
		want    []string
	}{
		"none":             {"orders.new", nil, nil},
		"of a header":      {"orders.new", []string{"ana,bob"}, []string{"ana", "bob"}},
		"with gaps":        {"orders.new", []string{" ana ,, bob", "eve"}, []string{"ana", "bob", "eve"}},
		"of the subject":   {"agent.events.ana.dead", nil, []string{"ana"}},
		"of both":          {"agent.events.ana.dead", []string{"bob"}, []string{"bob", "ana"}},
		"said twice":       {"agent.events.ana.dead", []string{"ana,bob"}, []string{"ana", "bob"}},
		"of another tree":  {"agent.eventsx.ana", nil, nil},
		"of a short event": {"agent.events.ana", nil, []string{"ana"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := nats.Header{}
			if tt.header != nil {
				h[bus.ChainHeader] = tt.header
			}
			if diff := cmp.Diff(tt.want, bus.ChainOf(tt.subject, h)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	h := nats.Header{}
	bus.SetChain(h, nil)
	if len(h) != 0 {
		t.Errorf("an empty chain was written: %v", h)
	}
	bus.SetChain(h, []string{"ana", "bob"})
	if got := h.Get(bus.ChainHeader); got != "ana,bob" {
		t.Errorf("got %q", got)
	}
}
