package answers

import (
	"testing"

	"agenthost/agents"
	"agenthost/bus"
)

// A question of another run is answered in the chat where it was put.
func TestWhereItWasAsked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		at          *bus.Origin
		where, here bool
	}{
		"in this conversation":       {&bus.Origin{Agent: "ana", Session: key, Subject: "plugin.outbound.web", To: "ann"}, true, true},
		"by another agent, in it":    {&bus.Origin{Agent: "ben", Session: key, Subject: "plugin.outbound.web", To: "ann"}, false, true},
		"in another conversation":    {&bus.Origin{Agent: "ana", Session: "web/dm/eve", Subject: "plugin.outbound.web", To: "eve"}, false, false},
		"at this address":            {&bus.Origin{Subject: "plugin.outbound.web", To: "ann"}, true, true},
		"at it, of another agent":    {&bus.Origin{Agent: "ben", Subject: "plugin.outbound.web", To: "ann"}, false, true},
		"at another address":         {&bus.Origin{Subject: "plugin.outbound.web", To: "eve"}, false, false},
		"on another channel":         {&bus.Origin{Subject: "plugin.outbound.telegram", To: "ann"}, false, false},
		"in a thread of the address": {&bus.Origin{Subject: "plugin.outbound.web", To: "ann", Thread: "t"}, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reader().isWhere(agents.Waiting{Origin: tt.at}, said("yes")); got != tt.where {
				t.Errorf("it may be answered: %v", got)
			}
			if got := reader().IsHere(tt.at, said("yes")); got != tt.here {
				t.Errorf("it is in this chat: %v", got)
			}
		})
	}
	if reader().IsHere(nil, said("yes")) {
		t.Error("what has no place was put here")
	}
	if !reader().owns(agents.Waiting{Agent: "ana", Session: key}) || reader().owns(agents.Waiting{Agent: "ben", Session: key}) {
		t.Error("a session owns what its own runs ask, and nothing else")
	}
}

// Orders and changes answer nothing, but for the order to stop.
func TestForItself(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"yes": false, "/help": true, "/stop": false, "/new": true} {
		if got := reader().IsForItself(said(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
	if !reader().IsForItself(editing(said("yes"))) {
		t.Error("an edit is taken for an answer")
	}
}

// What comes for the first time was passed on by nobody.
func TestPassedOnFirst(t *testing.T) {
	t.Parallel()
	if id, err := reader().PassedOn(said("yes")); id != "" || err != nil {
		t.Errorf("got %q, %v", id, err)
	}
	if a, b := reader().PassedOnHash(said("yes")), reader().PassedOnHash(said("no")); a != b {
		t.Errorf("one message has the hashes %q and %q", a, b)
	}
}
