package conversation

import (
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/run"
	"agenthost/session"
)

// Messages whose refusal could not be stored wait again. One that is refused later, for another
// reason, is noted by its id: a stretch from the first of them would have those that wait in it,
// and they would count as answered.
func TestRefusalsThatWereNotStored(t *testing.T) {
	t.Parallel()
	c := New(&Shared{}, "web/dm/ana")
	c.running, c.refusing = true, true
	batch := []*message.Item{chatMessage(1, "a"), chatMessage(2, "b")}
	for _, it := range batch {
		it.Refusal, it.Since = &run.Error{}, batch[0].Input.Seq
	}
	c.refusalsBroke(batch, session.ErrFenced)
	for _, it := range c.Queue {
		if it.Since != 0 {
			t.Errorf("%s is one of a stretch from %d", it.Input.ID, it.Since)
		}
	}
	if n := len(c.Queue); n != len(batch) {
		t.Errorf("%d messages wait, want %d", n, len(batch))
	}
}
