package conversation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/message"
	"agenthost/bus"
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

// What is for a run elsewhere that does not take it is refused. Where that cannot be stored it
// waits again: its message is held as long as the host has the lane, and would be answered by
// none.
func TestRefusalByARunElsewhereThatIsNotStored(t *testing.T) {
	t.Parallel()
	c, journal := busyConversation(t, 0)
	c.Agent.Work = t.Context()
	t.Cleanup(c.Agent.Parts.Asks.Wait)
	asked := agents.Waiting{
		ID: "ben." + session.SID("ben", "agent/x") + ".aaaaaaaaaaaaaaaaaaaaaaaaaa", Agent: "ben", Session: "agent/x", Run: "r1", Call: "c1", Kind: run.ForQuestion,
		Prompt: "Which?", Options: []string{"Red", "Blue"}, Number: 1, AskedAt: time.Now(), Deadline: time.Now().Add(time.Hour),
		Origin: &bus.Origin{Agent: "ana", Session: string(c.Key), Subject: "plugin.outbound.web", To: "ana"},
	}
	if err := c.Agent.Parts.Asks.Put(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	it := chatMessage(1, "green")
	it.Origin.Inbound.Answers, it.Stored = asked.ID, time.Now()
	put(c, it)
	c.running = true
	journal.Break(errors.New("not stored"))
	if err := c.keepWaiting(journal, c.reads, journal.State().Run, it); err != nil {
		t.Fatal(err)
	}
	if it.Refusal == nil {
		t.Error("it is not refused")
	}
	if !slices.Contains(c.Queue, it) {
		t.Error("it waits no more")
	}
}
