package run_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"agenthost/run"
)

// disorder is the log of a session whose signals come in no sensible order,
// with crashes in between.
func disorder(t *testing.T, seed uint64) *session {
	r := rand.New(rand.NewPCG(seed, 2))
	s := open(t, run.Limits{ModelCalls: 5, Tools: 2, Keep: 2, Safe: safe})
	if r.IntN(2) == 0 {
		s.lim.Window = 300
	}
	for n := range 80 {
		if r.IntN(40) == 0 {
			s.crash()
			s.resume()
			continue
		}
		s.send(random(r, s.state, n))
	}
	return s
}

// What becomes of a call without an answer in time, and what a person changes of one, is
// replayed as it was.
func TestReplayOfAnswers(t *testing.T) {
	late := func(sig run.Signal, result string) run.Signal {
		sig.Late, sig.Result, sig.Notice = true, result, "No answer came."
		return sig
	}
	changed := answered("a", run.Approve)
	changed.Args = json.RawMessage(`{"n":2}`)
	unanswered := run.Signal{Kind: run.ToolSettled, Call: "a", Source: run.FromAnswer}
	tests := map[string]struct {
		wait string
		sig  run.Signal
	}{
		"an approval that expires":               {run.ForApproval, late(answered("a", run.Deny), "not approved: no answer came")},
		"an approval with other arguments":       {run.ForApproval, changed},
		"a question that expires":                {run.ForQuestion, late(unanswered, "no answer came")},
		"a question with a default that expires": {run.ForQuestion, late(answered("a", "red"), "red (the default)")},
		"a task without a result in time":        {run.ForDelegate, run.Signal{Kind: run.ToolSettled, Call: "a", Source: run.FromDelegate, Late: true, Result: "no result"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{})
			s.send(ask("r1", "hello"))
			s.send(use("a"))
			s.send(waits("a", tt.wait))
			s.send(tt.sig)
			if _, err := run.Replay(s.log); err != nil {
				t.Error(err)
			}
		})
	}
}

// A fresh start leaves out what was said before, and sums up nothing.
func TestReplayOfAFreshStart(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(say("hello yourself"))
	s.send(ask("r2", "/new"))
	fresh := say("A fresh start.")
	fresh.Forget = true
	s.send(fresh)
	s.send(ask("r3", "and now"))
	s.send(say("now"))
	got, err := run.Replay(s.log)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encode(t, got), encode(t, replay(t, s.log)); got != want {
		t.Errorf("state\n got %s\nwant %s", got, want)
	}
}

// What did not follow from what came before it is found.
func TestReplayFindsWhatWasChanged(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(use("a"))
	s.send(done("a"))
	s.send(say("done"))
	tests := map[string]func([]run.Event) []run.Event{
		"a call that nobody asked for": func(log []run.Event) []run.Event {
			i := slices.IndexFunc(log, func(e run.Event) bool { return e.Type == run.ToolRequested })
			log[i].Name = "pay"
			return log
		},
		"an event too few": func(log []run.Event) []run.Event {
			return slices.DeleteFunc(log, func(e run.Event) bool { return e.Type == run.Replied })
		},
		"another end": func(log []run.Event) []run.Event {
			log[len(log)-1].Outcome = run.OutcomeFailed
			return log
		},
		"an event twice": func(log []run.Event) []run.Event { return append(log, log[len(log)-1]) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := run.Replay(change(slices.Clone(s.log)))
			if where, ok := errors.AsType[*run.DivergenceError](err); !ok || where.Want == nil {
				t.Errorf("got %v, want a divergence", err)
			}
		})
	}
}
