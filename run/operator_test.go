package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

var (
	noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	desk = run.Address{Subject: "plugin.outbound.web", To: "ana", ReplyTo: "m1"}
)

func folded(events ...run.Event) run.State {
	s := run.State{Phase: run.Idle}
	for _, e := range events {
		s = run.Fold(s, e)
	}
	return s
}

// While an operator has the chat no run begins, whatever the phase that it was taken in.
func TestNoRunBeginsForAnOperator(t *testing.T) {
	t.Parallel()
	for _, phase := range []run.Phase{run.Idle, run.Settled, run.Faulted} {
		s := run.Fold(run.State{Phase: phase}, run.Joined(noon, "kate", "cli", &run.Input{ID: "o1"}, desk))
		msg := llm.UserText("hello")
		after, effects := run.Step(s, run.Signal{Kind: run.Submit, At: noon, Run: "r1", Message: &msg}, run.Limits{})
		if after.Run != nil || len(effects) != 1 || effects[0].Kind != run.Ignored {
			t.Errorf("%s: a message makes %+v", phase, effects)
		}
		s = run.Fold(s, run.Left(noon, "kate", "cli", &run.Input{ID: "o2"}))
		if after, _ := run.Step(s, run.Signal{Kind: run.Submit, At: noon, Run: "r1", Message: &msg}, run.Limits{}); after.Run == nil {
			t.Errorf("%s: no run begins after the chat was handed back", phase)
		}
	}
}

// Whoever takes a chat over from another answers what is open in it.
func TestOperatorTakesOverFromAnother(t *testing.T) {
	t.Parallel()
	said := llm.UserText("where are you?")
	later := run.Address{Subject: "plugin.outbound.web", To: "ben", ReplyTo: "m2"}
	s := folded(
		run.Joined(noon, "kate", "cli", &run.Input{ID: "o1"}, desk),
		run.Heard(noon, run.Input{ID: "m2"}, &said, &later),
		run.Heard(noon, run.Input{ID: "m3", Envelope: json.RawMessage(`{"edits":"m2"}`)}, nil, nil),
		run.Joined(noon.Add(time.Hour), "lea", "api", &run.Input{ID: "o2"}, later),
	)
	want := &run.Operator{By: "lea", Since: noon.Add(time.Hour), Address: later, Open: []string{"m2"}}
	if diff := cmp.Diff(want, s.Operator); diff != "" {
		t.Errorf("the operator differs (-want +got):\n%s", diff)
	}
	s = run.Fold(s, run.Said(noon, "lea", "api", &run.Input{ID: "o3"}, "Here.", &run.Reply{N: 1, Kind: run.KindReply}))
	if len(s.Operator.Open) != 0 {
		t.Errorf("after the answer %q are open", s.Operator.Open)
	}
}

// An operator who never answers costs the state no more than the last messages.
func TestOpenMessagesOfAnOperatorAreBounded(t *testing.T) {
	t.Parallel()
	s := folded(run.Joined(noon, "", "cli", nil, desk))
	kept := s
	for range 1000 {
		said := llm.UserText("hello?")
		s = run.Fold(s, run.Heard(noon, run.Input{ID: "m"}, &said, nil))
	}
	if n := len(s.Operator.Open); n != 100 {
		t.Errorf("%d messages are open", n)
	}
	if len(kept.Operator.Open) != 0 {
		t.Error("an older state has changed")
	}
}

// What a host or a newer one has left out does no harm.
func TestOperatorEventsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, e := range []run.EventType{run.OperatorHeard, run.OperatorSaid, run.OperatorLeft} {
		if s := folded(run.Event{Type: e, At: noon}); s.Operator != nil || len(s.Messages) != 0 {
			t.Errorf("%s without anything makes %+v", e, s)
		}
	}
}
