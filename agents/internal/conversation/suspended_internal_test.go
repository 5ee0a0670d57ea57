package conversation

import (
	"errors"
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus/delivery"
	"agenthost/hooks"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// What waits for the end of a run goes to the log in the order in which it came: where the log is
// opened again meanwhile, the next does not go there before those that are to be looked at again.
func TestWaitBehindALogThatIsOpenedAgain(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 0)
	c.Agent.Work, c.Agent.Parts.Hooks = t.Context(), hooks.New(zerolog.Nop())
	left := &run.Run{ID: "r1"}
	c.suspended, c.noticed = true, true
	c.spilling = true // which has not come to its batch yet
	put(c, chatMessage(1, "a"))
	put(c, chatMessage(2, "b"))
	for _, it := range c.Queue {
		it.Delivery = &delivery.Delivery{}
	}
	reads := c.reads
	if err := c.waitBehind(journal, reads, left, c.Queue[0]); err != nil || c.Queue[0].Place != message.Spilled {
		t.Fatalf("the first is at place %d, %v", c.Queue[0].Place, err)
	}
	c.shared.Owners.Add(1) // as when a lane has come from another host
	if _, err := c.open(); err != nil {
		t.Fatal(err)
	}
	if err := c.waitBehind(journal, reads, left, c.Queue[1]); !errors.Is(err, errOutdated) {
		t.Errorf("got %v, want %v", err, errOutdated)
	}
	for _, it := range c.Queue {
		if it.Place != message.Held {
			t.Errorf("%s is at place %d, want it held", it.Input.ID, it.Place)
		}
	}
}
