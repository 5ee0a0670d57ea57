package session_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agenthost/run"
)

// A log that is broken stores what is on its way, and refuses what waits behind it, and what
// comes later: it keeps nothing of a session that was erased.
func TestBreak(t *testing.T) {
	t.Parallel()
	_, s := open(t)
	s.Limit = 1000
	c := openTalk(t, s)
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	large := waiting("first")
	large.Input.Envelope = json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`) // it goes by the object store
	ctx := t.Context()
	first, refused, erased := make(chan error, 1), make(chan error, 3), errors.New("erased")
	c.Add(ctx, []run.Event{large}, func(err error) { first <- err })
	for _, id := range []string{"second", "third"} {
		c.Add(ctx, []run.Event{waiting(id)}, func(err error) { refused <- err })
	}
	c.Break(erased)
	c.Break(errors.New("again"))
	c.Add(ctx, []run.Event{waiting("fourth")}, func(err error) { refused <- err })
	for range cap(refused) {
		if err := <-refused; !errors.Is(err, erased) {
			t.Errorf("got %v, want %v", err, erased)
		}
	}
	if err := <-first; err != nil {
		t.Errorf("what was on its way: %v", err)
	}
	if err := c.Err(); !errors.Is(err, erased) || c.IsCurrent(t.Context()) {
		t.Errorf("the log is in order but for %v", err)
	}
	again := c.reopen()
	for id, want := range map[string]bool{"first": true, "second": false, "third": false, "fourth": false} {
		if _, ok := again.Seen(id); ok != want {
			t.Errorf("the log has %s: %v, want %v", id, ok, want)
		}
	}
	if !again.IsCurrent(t.Context()) {
		t.Error("the log that was opened again is not current")
	}
}
