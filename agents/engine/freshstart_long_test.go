//go:build long

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/internal/pause"
)

// What was sent before /new is answered before it, and forgotten after it, also where it waits
// for the rate of its sender or is paused, and whichever host serves the session then.
func TestFreshStartInItsTurn(t *testing.T) {
	const turn = 2 * time.Minute // no longer than it has to be: each second of a host takes real time
	waits := map[string]func(w *crashWorld) (end func()){
		"paused": func(w *crashWorld) (end func()) {
			pauses, agent := pause.NewStore(w.js), pause.Target{Agent: "ana"}
			if _, err := pauses.Begin(w.t.Context(), pause.Pause{Target: agent}); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := pauses.End(w.t.Context(), agent); err != nil {
					t.Fatal(err)
				}
			}
		},
		"over the rate": func(w *crashWorld) (end func()) {
			w.tell("first")
			return func() { time.Sleep(5 * turn) }
		},
	}
	for name, wait := range waits {
		for _, crashes := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", crashes), func(t *testing.T) {
				inCrashWorld(t, func(w *crashWorld) {
					w.stop()
					w.actor.model = memory{}
					w.actor.cfg.Channels[0].Rate = agents.Rate{Messages: 1, Per: turn}
					w.begin()
					end := wait(w)
					w.pass()
					for _, id := range []string{"before", "/new", "after"} {
						w.tell(id)
						w.pass()
					}
					if crashes {
						w.crash()
						w.begin()
						w.pass()
					}
					end()
					w.pass()
					time.Sleep(2 * turn)
					got := w.said() // a reply is all that the model has seen, up to the first space
					if want := []string{"before", "/new=Done.", "after=Done."}; len(got) < 3 || !strings.HasPrefix(got[len(got)-3], want[0]) || !slices.Equal(got[len(got)-2:], want[1:]) {
						t.Errorf("said %q, want at last %q: after /new the model sees what the host has answered", got, want)
					}
					w.settled()
				})
			})
		}
	}
}
