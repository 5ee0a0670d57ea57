package lanes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirectoryFindsTakers(t *testing.T) {
	t.Parallel()
	d := newDirectory([]Agent{
		&agent{id: "ana", bindings: []string{"plugin.inbound.web", "plugin.inbound.tg.sales"}},
		&agent{id: "bo", bindings: []string{"plugin.inbound.web", "plugin.inbound.tg.*"}},
		&agent{id: "cy", bindings: []string{"plugin.inbound.tg.*", "plugin.inbound.tg.sales"}},
	})
	tests := map[string][]string{
		"plugin.inbound.web": {"ana", "bo"}, "plugin.inbound.web.x": nil,
		"plugin.inbound.tg": nil, "plugin.inbound.tg.sales": {"ana", "cy", "bo"},
		"plugin.inbound.tg.other": {"bo", "cy"}, "plugin.inbound.tg.other.more": nil,
		"agent.route.bo": {"bo"}, "agent.route.unknown": nil,
	}
	for range 2 { // asking changes nothing
		for subject, want := range tests {
			var got []string
			for _, r := range d.takers(subject) {
				got = append(got, r.ID())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("takers(%s): %s", subject, diff)
			}
		}
	}
}

func TestOfSpreads(t *testing.T) {
	t.Parallel()
	count := make([]int, 4)
	for i := range 1000 {
		count[Of(strings.Repeat("a", i%17)+string(rune('a'+i%26)), 4)]++
	}
	for lane, n := range count {
		if n < 100 {
			t.Errorf("lane %d has %d of 1000 agents", lane, n)
		}
	}
}
