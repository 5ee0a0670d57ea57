package run_test

import (
	"errors"
	"fmt"
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

func TestReplayOfAnyLog(t *testing.T) {
	sessions := 200
	if testing.Short() {
		sessions = 60
	}
	for seed := range uint64(sessions) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := disorder(t, seed)
			for _, end := range []int{len(s.log), s.commits[len(s.commits)/2]} {
				got, err := run.Replay(s.log[:end])
				if err != nil {
					t.Fatal(err)
				}
				if got, want := encode(t, got), encode(t, replay(t, s.log[:end])); got != want {
					t.Errorf("state\n got %s\nwant %s", got, want)
				}
			}
		})
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
