package bus_test

import (
	"testing"

	"agenthost/bus"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		filter string
		yes    []string
		no     []string
	}{
		"bare":     {"plugin.inbound.a", inbound("a"), inbound("b", "a.x", "ab")},
		"instance": {"plugin.inbound.a.x", inbound("a.x"), inbound("a", "a.y", "a.x.y")},
		"star":     {"plugin.inbound.a.*", inbound("a.x", "a.y"), inbound("a", "a.x.y", "b.x")},
		"tail":     {"plugin.inbound.a.>", inbound("a.x", "a.x.y"), inbound("a", "b.x")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, s := range tt.yes {
				if !bus.Matches(tt.filter, s) {
					t.Errorf("%s: got no match with %s", s, tt.filter)
				}
			}
			for _, s := range tt.no {
				if bus.Matches(tt.filter, s) {
					t.Errorf("%s: got a match with %s", s, tt.filter)
				}
			}
		})
	}
}

func inbound(instances ...string) []string {
	list := make([]string, len(instances))
	for i, s := range instances {
		list[i] = bus.InboundPrefix + s
	}
	return list
}
