//go:build unix && crashtest && long

package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// tags are the build tags of the host.
const tags = "crashtest"

// TestCrashPoints kills the host at every step of the crash table, under load
// and at the nth time it comes there.
func TestCrashPoints(t *testing.T) {
	for _, point := range crashPoints(t) {
		for name, open := range worlds {
			for _, nth := range pick([]int{2}, []int{1, 2, 4}) {
				t.Run(point+"/"+name+"/"+strconv.Itoa(nth), func(t *testing.T) {
					t.Parallel()
					w := open(t, "")
					h := newHost(t, w.config, "a")
					h.start("AGENTHOST_CRASH=" + point + ":" + strconv.Itoa(nth))
					said := w.begin(
						talk{channel: chat, people: 6, each: 30, every: 10 * time.Millisecond},
						talk{channel: notes, people: 4, each: 30, every: 10 * time.Millisecond},
						talk{channel: flood, people: 3, each: 80},
					)
					if code := h.awaitExit(patience); code != -1 {
						t.Fatalf("the host has ended with code %d before it came to the crash point", code)
					}
					crashed := time.Now()
					h.start()
					<-said
					w.audit()
					t.Logf("killed at %s, all answered %v later: %s", point, time.Since(crashed).Round(time.Millisecond), w.summary())
				})
			}
		}
	}
}

// TestCrashPointsOfALoneMessage kills the host at every step of a message that
// nothing else is delivered with: what is acknowledged too early is lost, as no
// older message has the server deliver it again.
func TestCrashPointsOfALoneMessage(t *testing.T) {
	for _, point := range []string{
		"in-commit", "after-step", "in-tool", "before-commit", "after-commit", "before-publish", "after-publish", "before-ack",
	} {
		for name, open := range worlds {
			t.Run(point+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := open(t, "")
				h := newHost(t, w.config, "a")
				h.start("AGENTHOST_CRASH=" + point)
				if !w.say(statement{channel: chat, from: "ana", text: "a tool"}) {
					t.FailNow()
				}
				if code := h.awaitExit(patience); code != -1 {
					t.Fatalf("the host has ended with code %d before it came to the crash point", code)
				}
				h.start()
				w.audit()
			})
		}
	}
}

// TestCrashPointsOfBusySessions kills a host whose sessions never run out of
// messages at every step that they come to. After each it recovers, as no message
// may be under way at five deaths in a row, and is killed at random.
func TestCrashPointsOfBusySessions(t *testing.T) {
	for _, c := range crowds {
		for name, open := range targets {
			t.Run(fmt.Sprintf("%dx%d/%s", c.sessions, c.outstanding, name), func(t *testing.T) {
				t.Parallel()
				rng := newRand(t)
				g := open(t, 1000)
				tr := g.converse(c, 1000)
				for _, point := range []string{
					"before-spill", "after-spill", "before-commit", "after-commit", "before-publish", "after-publish", "before-ack",
				} {
					g.start(rng, fmt.Sprintf("AGENTHOST_CRASH=%s:%d", point, 1+rng.IntN(10)))
					g.host.awaitExit(patience)
					g.kill(rng)
					g.start(rng)
					tr.awaitEnds(1 + rng.IntN(200))
					g.rest()
					g.kill(rng)
				}
				g.start(rng)
				tr.awaitEnds(2 * c.sessions * c.outstanding)
				tr.stop()
				tr.audit()
			})
		}
	}
}

// TestCrashesInRecovery kills every life of the host at a point of its own,
// but less often than a message may fail its host.
func TestCrashesInRecovery(t *testing.T) {
	for name, open := range worlds {
		for round := range pick(2, 20) {
			t.Run(name+"/"+strconv.Itoa(round), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(uint64(round), 1))
				w, points := open(t, ""), crashPoints(t)
				h := newHost(t, w.config, "a")
				said := w.begin(
					talk{channel: chat, people: 6, each: 30, every: 10 * time.Millisecond},
					talk{channel: notes, people: 4, each: 30, every: 10 * time.Millisecond},
					talk{channel: flood, people: 3, each: 80},
				)
				var died []string
				for range 4 {
					point := points[rng.IntN(len(points))] + ":" + strconv.Itoa(1+rng.IntN(4))
					h.start("AGENTHOST_CRASH=" + point)
					await(t, "a crash, or an answer to every message", func() bool {
						return isClosed(h.exited) || isClosed(said) && w.allAnswered()
					})
					if isClosed(h.exited) {
						died = append(died, point)
					}
					h.kill()
				}
				if len(died) == 0 {
					t.Error("no crash point was reached")
				}
				h.start()
				<-said
				w.audit()
				t.Logf("killed at %q: %s", died, w.summary())
			})
		}
	}
}

// crashPoints are the names in the source, so that none is forgotten.
func crashPoints(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../agents/engine/*.go")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := filepath.Glob("../agents/internal/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range append(files, inner...) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\bcrash\.Point\("([^"]+)"\)`).FindAllSubmatch(source, -1) {
			names = append(names, string(found[1]))
		}
	}
	if len(names) == 0 {
		t.Fatal("no crash points in ../agents")
	}
	return names
}
