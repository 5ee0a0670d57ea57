//go:build long

package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/waittest"
)

// An agent with partitions that is removed and put back works as before, however many it has then.
func TestDividedAgentIsBack(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4, 2, 0, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, hot(4), echoing("bob", "other"))
			for p := range 8 {
				w.say("ana", bus.Inbound{From: fmt.Sprint("p", p), Text: "hello"})
				w.expect("reply", "hello")
			}
			bob := w.fleet.Runtime("bob")
			for range 2 {
				if err := w.fleet.Change(t.Context(), []*engine.Runtime{bob}, nil); err != nil {
					t.Fatal(err)
				}
				if err := w.fleet.Change(t.Context(), []*engine.Runtime{w.runtime(hot(n)), bob}, nil); err != nil {
					t.Fatal(err)
				}
				for p := range 16 {
					w.say("ana", bus.Inbound{From: fmt.Sprint("p", p), Text: "still here"})
					w.expect("reply", "still here")
				}
			}
			w.settled()
			if n := w.letters("ana"); n != 0 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
}

// A run that a removed agent is at work on ends where it is, also when the agent is back: what
// comes then for its session waits for that, and other sessions do not.
func TestRunOfADividedAgentEndsWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(4), echoing("bob", "other"))
	begun, release := make(chan string, 100), make(chan struct{})
	w.hook(hooks.BeforeModelCall, hooks.Options{Timeout: time.Minute}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		begun <- call.Run
		if call.Session == "ana/dm/slow" {
			<-release
		}
		return hooks.Outcome{}, nil
	})
	w.say("ana", bus.Inbound{From: "slow", Text: "first"})
	<-begun
	bob := w.fleet.Runtime("bob")
	for _, runtimes := range [][]*engine.Runtime{{bob}, {w.runtime(hot(4)), bob}} {
		if err := w.fleet.Change(t.Context(), runtimes, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.say("ana", bus.Inbound{From: "slow", Text: "second"})
	for p := range 16 {
		w.say("ana", bus.Inbound{From: fmt.Sprint("p", p), Text: "hello"})
		w.expect("reply", "hello")
		<-begun
	}
	waittest.Until(t, "the second waits", func() bool {
		return w.fleet.Runtime("ana").Status().Queued > 0
	})
	close(release)
	w.expect("reply", "first")
	w.expect("reply", "second")
	w.settled()
	if n := len(begun); n != 1 {
		t.Errorf("the model was called %d more times, want one", n)
	}
}
