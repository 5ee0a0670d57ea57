package lanes

import (
	"testing"
	"time"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
)

// What comes by a door is for the agent that it names and for its shadows, each in its
// own lane, whatever other agents the door leads to.
func TestBehindDoor(t *testing.T) {
	t.Parallel()
	mcp := []string{bus.DoorMCP}
	agents := []Agent{
		&agent{id: "ana", doors: mcp}, &agent{id: "bo", doors: bus.Doors()}, &agent{id: "shy"},
		&agent{id: "shade", doors: mcp, shadowOf: "ana"},
	}
	const count = 4
	v := newRouting(agents, count, nil)
	for door, want := range map[string]map[string][]string{
		bus.DoorMCP: {"ana": {"ana", "shade"}, "bo": {"bo"}, "shy": nil, "nobody": nil},
		bus.DoorA2A: {"ana": nil, "bo": {"bo"}},
	} {
		for name, want := range want {
			got, known := map[string]bool{}, true
			for lane := range count {
				list, complete := v.behindDoor(lane, door, name, time.Now())
				known = known && complete
				for _, a := range list {
					if got[a.ID()] || Of(a.ID(), count) != lane {
						t.Errorf("%s to %s: lane %d has %s", door, name, lane, a.ID())
					}
					got[a.ID()] = true
				}
			}
			wanted := map[string]bool{}
			for _, id := range want {
				wanted[id] = true
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("%s to %s (-want +got):\n%s", door, name, diff)
			}
			if unknown := name == "nobody"; known == unknown {
				t.Errorf("%s to %s: complete is %t", door, name, known)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{`{"agent":"ana","text":"x"}`: "ana", `{"agent":"ana","Agent":"bo"}`: "ana", `{"text":"x"}`: "", "hello": "", `{"agent":7}`: "", "": ""} {
		if got := nameIn([]byte(data)); got != want {
			t.Errorf("%s: got %q, want %q", data, got, want)
		}
	}
}
