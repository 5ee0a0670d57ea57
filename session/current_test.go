package session_test

import (
	"context"
	"testing"

	"agenthost/run"
)

// A log is current until another host writes to it, and while it has no commit in flight.
func TestIsCurrent(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	c := openTalk(t, s)
	if !c.IsCurrent(t.Context()) {
		t.Error("the log of a session without one is not current")
	}
	c.turn()
	if !c.IsCurrent(t.Context()) {
		t.Error("it is not current behind its own commits")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if c.IsCurrent(gone) {
		t.Error("it is current though the server was not asked")
	}
	other := c.reopen()
	if err := other.add(run.Event{Type: run.Suspended}); err != nil {
		t.Fatal(err)
	}
	if c.IsCurrent(t.Context()) {
		t.Error("it is current though another host has written to it")
	}
	if !other.IsCurrent(t.Context()) {
		t.Error("that of the other host is not current")
	}
	other.step(ask("on its way", "hello"))
	if other.IsCurrent(t.Context()) {
		t.Error("it is current before a commit that it owes")
	}
}
