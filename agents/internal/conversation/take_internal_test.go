package conversation

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// What is to be ended waits for a log that takes it: nothing is tried again and again on one
// to which another host has written.
func TestTakeEndsWithABrokenLog(t *testing.T) {
	t.Parallel()
	c, _ := busyConversation(t, 0)
	c.Agent.Work = t.Context()
	journal := brokenLog(t, c)
	said, withdrawal := chatMessage(1, "a"), chatMessage(2, "")
	withdrawal.Origin.Inbound.Withdraws = said.Input.ID
	put(c, said)
	put(c, withdrawal)
	c.running = true
	ended := make(chan error, 1)
	go func() {
		_, err := c.take(journal)
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, session.ErrFenced) || len(c.Queue) != 2 {
			t.Errorf("got %v with %d inputs left, want %v and both", err, len(c.Queue), session.ErrFenced)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on without an end")
	}
}

// The same for a run that looks at what has come.
func TestInterjectionEndsWithABrokenLog(t *testing.T) {
	t.Parallel()
	c, _ := busyConversation(t, 0)
	c.Agent.Work = t.Context()
	put(c, chatMessage(1, "/stop"))
	if _, _, err := (*view)(c).Next(t.Context(), brokenLog(t, c)); !errors.Is(err, session.ErrFenced) || len(c.Queue) != 1 {
		t.Errorf("got %v with %d inputs left, want %v and one", err, len(c.Queue), session.ErrFenced)
	}
}

// A log that was read before is read again where another host has written to it since.
func TestLogThatWasReadBefore(t *testing.T) {
	t.Parallel()
	c, _ := busyConversation(t, 0)
	c.Agent.Work = t.Context()
	stale := brokenLog(t, c)
	current, err := c.load(stale)
	if err != nil || current == stale {
		t.Fatalf("the log is what it was before another host wrote to it, %v", err)
	}
	if again, err := c.load(current); err != nil || again != current {
		t.Errorf("a log that is current was read again, %v", err)
	}
}

// brokenLog is the log of a session to which another host has written since it was opened.
func brokenLog(t *testing.T, c *Conversation) *session.Log {
	t.Helper()
	open := func() *session.Log {
		journal, err := c.Agent.Parts.Store.Open(t.Context(), "ana", c.Key)
		if err != nil {
			t.Fatal(err)
		}
		return journal
	}
	add := func(journal *session.Log, id string) error {
		stored := make(chan error, 1)
		journal.Add(t.Context(), []run.Event{{Type: run.InputWithdrawn, At: time.Now(), Input: &run.Input{ID: id, Subject: "plugin.inbound.web", Seq: 1}}}, func(err error) { stored <- err })
		return <-stored
	}
	journal, other := open(), open()
	if err := add(other, "a"); err != nil {
		t.Fatal(err)
	}
	if err := add(journal, "b"); !errors.Is(err, session.ErrFenced) {
		t.Fatalf("got %v, want %v", err, session.ErrFenced)
	}
	return journal
}

// An edit that cannot be made is refused, and is not taken for done.
func TestEditThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	c, _ := busyConversation(t, 0)
	said, edit := chatMessage(1, "a"), chatMessage(2, "b")
	edit.Origin.Inbound.Edits = said.Input.ID
	said.Input.Envelope = json.RawMessage(`{`)
	items := c.edited([]*message.Item{said, edit})
	if len(items) != 1 || items[0] != said || said.Origin.Inbound.Text != "a" {
		t.Errorf("the run has %d inputs and is told %q", len(items), said.Origin.Inbound.Text)
	}
	if len(c.refusals) != 1 || c.refusals[0] != edit || edit.Refusal == nil || edit.Refusal.Code != llm.CodeValidation {
		t.Errorf("refused are %d, the edit with %+v", len(c.refusals), edit.Refusal)
	}
}

// Of two edits of one message the newer counts, also where a run that broke off has left them
// before it.
func TestNewerEditCounts(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}} {
		c, _ := busyConversation(t, 0)
		journal, err := c.Agent.Parts.Store.Open(t.Context(), "ana", c.Key)
		if err != nil {
			t.Fatal(err)
		}
		c.journal = journal
		all := []*message.Item{chatMessage(1, "a"), chatMessage(2, "older"), chatMessage(3, "newer")}
		all[1].Origin.Inbound.Edits, all[2].Origin.Inbound.Edits = all[0].Input.ID, all[0].Input.ID
		all[0].Input.Envelope = json.RawMessage(`{"text":"a"}`)
		for _, i := range order {
			put(c, all[i])
		}
		c.running = true
		items, err := c.take(journal)
		if err != nil || len(items) != 3 || all[0].Origin.Inbound.Text != "newer" {
			t.Errorf("in the order %v: the run has %d inputs and is told %q, %v", order, len(items), all[0].Origin.Inbound.Text, err)
		}
	}
}
