package conversation

import (
	"errors"
	"slices"
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus/delivery"
	"agenthost/hooks"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// What an operator is to be shown, and a hook refuses, is answered. Where neither can be stored,
// each message waits once more, and no message twice: its delivery would end twice, which
// acknowledges it for the other agents of its lane.
func TestRecordThatIsNotStored(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 0)
	c.Agent.Work, c.Agent.Parts.Hooks = t.Context(), hooks.New(zerolog.Nop())
	c.running = true
	scheduled := make(chan struct{}, 2)
	c.shared.Scheduler = scheduler{scheduled: scheduled}
	items := []*message.Item{chatMessage(1, "bad"), chatMessage(2, "good")}
	for _, it := range items {
		it.Delivery = &delivery.Delivery{}
	}
	items[0].Screened.Store(&message.Screening{Refused: "no"})
	journal.Break(errors.New("not stored"))
	c.endBetween(c.record(journal, items))
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []string
	for _, it := range c.Queue {
		waiting = append(waiting, it.Input.ID)
	}
	slices.Sort(waiting) // what a hook has refused is answered whenever its turn is
	if want := []string{"m2", "m3"}; !slices.Equal(waiting, want) {
		t.Errorf("%q wait, want %q", waiting, want)
	}
}

type scheduler struct {
	scheduled chan<- struct{}
}

func (s scheduler) Schedule(*Conversation) { s.scheduled <- struct{}{} }

func (scheduler) AfterInbox(_ session.Key, _ uint64, then func()) { then() }
