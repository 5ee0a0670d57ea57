//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"agenthost/run"
	"agenthost/session"
)

// load is what most tests have said: many sessions, each in a steady pace that
// lasts about as long as lasts, on all channels.
func load(people, each int, lasts time.Duration) []talk {
	every := lasts / time.Duration(each)
	return []talk{
		{channel: chat, people: people - people/5, each: each, every: every},
		{channel: notes, people: people / 5, each: each, every: every},
	}
}

func TestHostKilledAtRandom(t *testing.T) {
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng, w := newRand(t), open(t, "")
			h := newHost(t, w.config, "a")
			h.start()
			said := w.begin(load(pick(20, 50), pick(15, 40), pick(4*time.Second, 30*time.Second))...)
			kills := breakUntil(said, rng, 300*time.Millisecond, 2*time.Second, func() {
				w.rest()
				h.kill()
				h.start()
			})
			w.audit()
			t.Logf("host killed %d times: %s", kills, w.summary())
		})
	}
}

// breakUntil does harm at random intervals until done is closed, and once at
// least. It returns how often it did.
func breakUntil(done <-chan struct{}, rng *rand.Rand, least, most time.Duration, harm func()) int {
	for n := 1; ; n++ {
		// The interval is the chaos itself; nothing is waited for.
		<-time.After(least + upTo(rng, most-least))
		harm()
		if isClosed(done) {
			return n
		}
	}
}

// rest waits until no run has outlived three hosts: a message that was under way
// whenever its host died, five times, is a dead letter, rightly.
func (l *ledger) rest() {
	l.t.Helper()
	await(l.t, "the runs that outlived three hosts", func() bool { return l.sessions.wind() == nil && !l.worn() })
}

// worn reports whether a run in its fourth life or a later one is not over, as
// far as the tape is wound.
func (l *ledger) worn() bool {
	l.t.Helper()
	for _, msg := range l.sessions.msgs[l.weighed:] {
		if isSnapshot(msg) {
			continue
		}
		c := session.Commit{}
		if err := json.Unmarshal(msg.Data, &c); err != nil {
			l.t.Fatal(err)
		}
		for _, e := range c.Events {
			switch e.Type {
			case run.Started:
				l.lives[c.Run] = e.Attempt
			case run.Finished:
				delete(l.lives, c.Run)
			}
		}
	}
	l.weighed = len(l.sessions.msgs)
	for _, n := range l.lives {
		if n > 3 {
			return true
		}
	}
	return false
}

func from(n int, talks []talk) []talk {
	for i := range talks {
		talks[i].from = n
	}
	return talks
}
