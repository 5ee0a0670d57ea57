package run_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

func TestFoldLeavesWhatDoesNotFit(t *testing.T) {
	tests := map[string]run.Event{
		"unknown type":          {Type: "run.painted"},
		"message without one":   {Type: run.MessageAdded},
		"reply without one":     {Type: run.Replied},
		"input without one":     {Type: run.InputAdded},
		"result of no call":     {Type: run.ToolFinished, Call: "then"},
		"question of no call":   {Type: run.QuestionAsked, Call: "then"},
		"approval of no call":   {Type: run.ApprovalAnswered, Call: "then", Answer: run.Approve},
		"more than there is":    {Type: run.Compacted, Through: 99},
		"less than nothing":     {Type: run.Compacted, Through: -1},
		"a fact without effect": {Type: run.ModelCalled, Provider: "p"},
	}
	for name, e := range tests {
		t.Run(name, func(t *testing.T) {
			s := in(t, run.Dispatching).state
			before := encode(t, s)
			if after := encode(t, run.Fold(s, e)); after != before {
				t.Errorf("got %s, want %s", after, before)
			}
		})
	}
}

func TestFoldOutsideARun(t *testing.T) {
	var s run.State
	s = run.Fold(s, run.Event{Type: run.ToolRequested, Call: "a"})
	s = run.Fold(s, run.Event{Type: run.Suspended})
	s = run.Fold(s, run.Event{Type: run.InputAdded, Run: "r0", Input: &run.Input{ID: "m1"}})
	if got, want := encode(t, s), `{"phase":"idle","waiting":[{"id":"m1","subject":"","seq":0,"envelope":null}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFoldCompactsWhatNoUserBegan(t *testing.T) {
	var s run.State
	for _, text := range []string{"one", "two"} {
		m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
		s = run.Fold(s, run.Event{Type: run.MessageAdded, Message: &m})
	}
	s = run.Fold(s, run.Event{Type: run.Compacted, Through: 1})
	if len(s.Messages) != 1 || s.Messages[0].Text() != "two" {
		t.Errorf("got %+v, want only the second message", s.Messages)
	}
}

// An older state may be kept beside the newest one.
func TestOldStatesStayAsTheyWere(t *testing.T) {
	s := open(t, run.Limits{})
	var kept []run.State
	var were []string
	keep := func() { kept = append(kept, s.state); were = append(were, encode(t, s.state)) }
	for _, sig := range []run.Signal{
		ask("r1", "hello"), use("a", "b"), done("b"), steer("r2", "and"), steer("r3", "then"), waits("a", run.ForQuestion),
		ask("r4", "later"), answered("a", "blue"), say("fine"), ask("r4", "later"), say("yes"),
	} {
		keep()
		s.send(sig)
	}
	for i := range kept {
		if got := encode(t, kept[i]); got != were[i] {
			t.Errorf("state %d:\n got %s\nwant %s", i, got, were[i])
		}
	}
}

// A crowd of events must not copy the conversation each time.
func TestFoldAppends(t *testing.T) {
	m := llm.UserText("hello")
	var s run.State
	allocs := testing.AllocsPerRun(5, func() {
		s = run.State{}
		for range 1000 {
			s = run.Fold(s, run.Event{Type: run.MessageAdded, Message: &m})
		}
	})
	if allocs > 40 {
		t.Errorf("got %v allocations for 1000 messages, want them amortised", allocs)
	}
}
