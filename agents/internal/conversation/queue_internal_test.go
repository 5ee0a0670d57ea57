package conversation

import (
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// What the log has accepted goes before what is newer, also when it came again
// behind that.
func TestMergeWaitingKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c := New(&Shared{}, "web/dm/ana")
	for _, in := range []run.Input{{ID: "m5", Seq: 5}, {ID: "m3", Seq: 3}, {ID: "m4", Seq: 4}, {ID: "m6", Seq: 6}} {
		in.Subject = "plugin.inbound.web"
		c.enqueue(len(c.Queue), &message.Item{Input: in, Origin: message.Origin{Subject: in.Subject, Inbound: &bus.Inbound{}}})
	}
	c.mergeWaiting([]run.Input{{ID: "m3", Seq: 3}, {ID: "m4", Seq: 4}})
	var got []string
	for _, it := range c.Queue {
		got = append(got, it.Input.ID)
		if want := it.Input.ID != "m5" && it.Input.ID != "m6"; (it.Place == message.Logged) != want {
			t.Errorf("%s is at %v, want it logged: %t", it.Input.ID, it.Place, want)
		}
	}
	if diff := cmp.Diff([]string{"m3", "m4", "m5", "m6"}, got); diff != "" {
		t.Error(diff)
	}
	if c.In(message.Held) != 2 || c.shared.Queued.Load() != 4 {
		t.Errorf("got %d held and %d queued, want 2 and 4", c.In(message.Held), c.shared.Queued.Load())
	}
}
