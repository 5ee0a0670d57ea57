//go:build long

package host_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"agenthost/bus"
	"agenthost/internal/pause"
	"agenthost/internal/waittest"
)

// Hosts come and go under load: the lanes are even each time, and no message is lost,
// answered twice or out of its order.
func TestLanesSpread(t *testing.T) {
	t.Parallel()
	f := newSpreadFleet(t, 20*time.Millisecond)
	f.join("one", 1)
	stop := f.write(50)
	f.spread(map[string]int{"one": 4})
	joined := time.Now()
	leave := f.join("two", 1)
	f.spread(map[string]int{"one": 2, "two": 2})
	t.Logf("the longest wait while a host joined: %v", f.worst(joined))
	third := time.Now()
	f.join("three", 1)
	waittest.Until(t, "the third host serves", func() bool { return len(f.owners()) == 3 })
	t.Logf("three hosts serve after %v: %v", time.Since(third).Round(time.Millisecond), f.owners())
	left := time.Now()
	leave()
	waittest.Until(t, "two hosts serve all", func() bool {
		got := f.owners()
		return got["two"] == 0 && slices.Equal(slices.Sorted(maps.Values(got)), []int{2, 2})
	})
	stop()
	t.Logf("the longest wait while a host left: %v", f.worst(left))
	f.check()
}

func TestLanesSpreadByWeight(t *testing.T) {
	t.Parallel()
	f := newSpreadFleet(t, 0)
	f.join("one", 1)
	f.join("two", 3)
	stop := f.write(50)
	f.spread(map[string]int{"one": 1, "two": 3})
	stop()
	f.check()
	hosts, err := f.client.EveryHost(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][3]int{}
	for _, h := range hosts {
		got[h.Host] = [3]int{h.Weight, h.Share, len(h.Placed)}
	}
	if diff := cmp.Diff(map[string][3]int{"one": {1, 1, 1}, "two": {3, 3, 3}}, got); diff != "" {
		t.Errorf("weight, share, lanes:\n%s", diff)
	}
}

// Who stops a run need not know that its lane has moved: the run ends, whichever host it
// is on.
func TestLanesMoveBesideRunsThatAreStopped(t *testing.T) {
	t.Parallel()
	f := newSpreadFleet(t, 10*time.Minute)
	var stopped sync.Map
	if _, err := f.client.NATS().Subscribe("plugin.outbound.load.*", func(m *nats.Msg) { stopped.Store(m.Subject, true) }); err != nil {
		t.Fatal(err)
	}
	f.join("one", 1)
	for agent := range spreadAgents {
		f.say(agent, 0, 1)
	}
	waittest.Until(t, "all runs have begun", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.begun) == spreadAgents
	})
	f.join("two", 1)
	waittest.Until(t, "lanes have moved", func() bool { return f.owners()["one"] == 2 })
	for agent := range spreadAgents {
		f.publish(agent, bus.Inbound{ID: fmt.Sprint("stop ", agent), From: fmt.Sprintf("a%02d-p0", agent), Text: "/stop"})
	}
	waittest.Until(t, "all runs are stopped", func() bool {
		n := 0
		stopped.Range(func(any, any) bool { n++; return true })
		return n == spreadAgents
	})
}

// Runs that take long end where they began, while their lane moves: none is begun twice,
// and what comes in their chats waits for them.
func TestLanesMoveBesideLongRuns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		leaves bool
		run    time.Duration // for a host that joins, longer than a lane waits until it moves; else shorter than the grace
	}{
		"a host joins":  {false, 8 * time.Second},
		"a host leaves": {true, 3 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSpreadFleet(t, tt.run)
			leave := f.join("one", 1)
			if tt.leaves {
				f.join("two", 1)
			}
			for round := 1; round <= 2; round++ {
				for agent := range spreadAgents {
					f.say(agent, 0, round)
				}
			}
			waittest.Until(t, "the first runs have begun", func() bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				first := 0
				for text := range f.begun { // where the machine is slow the second ones begin as well
					if strings.HasSuffix(text, " 1") {
						first++
					}
				}
				return first == spreadAgents
			})
			if tt.leaves {
				leave()
			} else {
				f.join("two", 1)
			}
			f.settle()
			f.check()
			f.mu.Lock()
			defer f.mu.Unlock()
			for text, times := range f.begun {
				if times > 1 {
					t.Errorf("%s was begun %d times", text, times)
				}
			}
		})
	}
}

// What comes while all is paused takes no run from the host that had the lane before, as what is to
// stop one does: it ends there, and nothing of it is begun twice.
func TestLanesMoveBesideRunsDuringAPause(t *testing.T) {
	t.Parallel()
	f := newSpreadFleet(t, 15*time.Second)
	f.join("one", 1)
	for agent := range spreadAgents {
		f.say(agent, 0, 1)
	}
	begun := func() (n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, times := range f.begun {
			n += times
		}
		return n
	}
	waittest.Until(t, "all runs have begun", func() bool { return begun() == spreadAgents })
	pauses := pause.NewStore(f.js)
	if _, err := pauses.Begin(t.Context(), pause.Pause{Target: pause.Target{All: true}}); err != nil {
		t.Fatal(err)
	}
	f.join("two", 1)
	waittest.Until(t, "lanes have moved", func() bool { return f.owners()["one"] == 2 })
	for agent := range spreadAgents {
		f.sayWith(agent, 0, 2, "now")
	}
	waittest.Until(t, "all runs have ended", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.answered) == spreadAgents
	})
	if n := begun(); n != spreadAgents {
		t.Errorf("%d runs have begun, want %d", n, spreadAgents)
	}
	f.mu.Lock()
	f.delay = 0
	f.mu.Unlock()
	if err := pauses.End(t.Context(), pause.Target{All: true}); err != nil {
		t.Fatal(err)
	}
	f.settle()
	f.check()
}
