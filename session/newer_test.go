package session_test

import (
	"strings"
	"testing"

	"agenthost/bus/bustest"

	"github.com/rs/zerolog"
)

// newer is a commit with an event of a type that this version does not know.
func newer(event string) string { return `{"v":1,"key":"web/dm/ana","events":[` + event + `]}` }

// A newer version may have written events that this one does not know. It goes on without them,
// and says so, once for a type.
func TestEventsOfANewerVersionAreNamed(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	var log bustest.LogBuffer
	s.Log = zerolog.New(&log)
	c := openTalk(t, s)
	c.turn()
	putCommit(t, b, "Agent-Commit", newer(`{"type":"mood.noted","at":"2026-01-02T03:04:05Z","mood":{"of":"ana"}}`))
	again := c.reopen()
	again.turn()
	if n := len(again.reopen().State().Messages); n != 4 {
		t.Errorf("%d messages, want those of two turns", n)
	}
	text := log.String()
	for _, want := range []string{"mood.noted", logSubject(), "newer version"} {
		if !strings.Contains(text, want) {
			t.Errorf("log: got %s, want %s in it", text, want)
		}
	}
	if n := strings.Count(text, "\n"); n != 1 {
		t.Errorf("%d lines, want one: %s", n, text)
	}
}

// An event of a newer version that has an input and a reply to it is the end of that input, as it
// is of those that this version knows: the input gets no run, and the reply goes out again where
// its host has died before it was published.
func TestReplyOfANewerVersionEndsItsInput(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	c.turn()
	if err := c.add(waiting("w1")); err != nil {
		t.Fatal(err)
	}
	putCommit(t, b, "Agent-Commit", newer(`{"type":"input.shelved","at":"2026-01-02T03:04:05Z",
		"input":{"id":"w1","subject":"plugin.inbound.web","seq":7,"envelope":null},
		"reply":{"id":"x.1","n":0,"kind":"reply","final":true,"subject":"plugin.outbound.web","envelope":{"text":"later"}}}`))
	again := c.reopen()
	seq, seen := again.Seen("w1")
	if !seen || seq != again.Replied() || seq == 0 {
		t.Errorf("got commit %d, %t, want the last with replies, %d", seq, seen, again.Replied())
	}
	if w := again.State().Waiting; len(w) > 0 {
		t.Errorf("%d inputs wait, want none", len(w))
	}
	said, err := s.Said(t.Context(), seq)
	if err != nil || len(said.Replies) != 1 || said.Replies[0].ID != "x.1" {
		t.Errorf("got %+v, %v, want the reply", said, err)
	}
	again.turn()
	if now, _ := again.reopen().Seen("w1"); now != seq {
		t.Errorf("after a run: got commit %d, want %d", now, seq)
	}
}
