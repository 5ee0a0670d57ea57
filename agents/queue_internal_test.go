package agents

import (
	"testing"

	"agenthost/bus"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// What the log has accepted goes before what is newer, also when it came again
// behind that.
func TestMergeWaitingKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c := newConversation(&Runtime{}, "web/dm/ana")
	for _, in := range []run.Input{{ID: "m5", Seq: 5}, {ID: "m3", Seq: 3}, {ID: "m4", Seq: 4}, {ID: "m6", Seq: 6}, {ID: "twice", Seq: 7}} {
		in.Subject = "plugin.inbound.web"
		c.enqueue(len(c.queue), &item{input: in, origin: origin{subject: in.Subject, inbound: &bus.Inbound{}}})
	}
	c.mergeWaiting([]run.Input{{ID: "m3", Seq: 3}, {ID: "m4", Seq: 4}, {ID: "twice", Seq: 1}})
	var got []string
	for _, it := range c.queue {
		got = append(got, it.input.ID)
		if want := it.input.ID != "m5" && it.input.ID != "m6"; (it.place == logged) != want {
			t.Errorf("%s is at %v, want it logged: %t", it.input.ID, it.place, want)
		}
	}
	if diff := cmp.Diff([]string{"m3", "m4", "m5", "m6", "twice"}, got); diff != "" {
		t.Error(diff)
	}
	if c.count[held] != 2 || c.r.queued.Load() != 5 {
		t.Errorf("got %d held and %d queued, want 2 and 5", c.count[held], c.r.queued.Load())
	}
}
