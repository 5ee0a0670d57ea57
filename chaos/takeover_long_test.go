//go:build unix && long

package chaos_test

import (
	"syscall"
	"testing"
	"time"
)

func TestTakeoverUnderLoad(t *testing.T) {
	t.Parallel()
	w := external(t, "")
	serving, _ := w.pair()
	said := w.begin(talk{channel: chat, people: pick(20, 50), each: 60, every: 200 * time.Millisecond, from: 1})
	<-time.After(time.Second) // into the load
	serving.kill()
	killed := time.Now()
	<-said
	w.audit()
	took := w.firstAfter(killed)
	if took > takeoverWithin {
		t.Errorf("the first answer of the other host came %v after the kill", took)
	}
	t.Logf("first answer of the other host %v after the kill: %s", took.Round(time.Millisecond), w.summary())
}

// Nothing is said after the kill that could wake anybody up.
func TestTakeoverOfRunsInFlight(t *testing.T) {
	t.Parallel()
	m := startModel(t, 0)
	w := external(t, m.url)
	serving, _ := w.pair()
	m.delay.Store(int64(3 * time.Second))
	const people = 20
	w.hold(talk{channel: chat, people: people, each: 2, from: 1})
	await(t, "all runs", func() bool { return m.calling.Load() == people })
	serving.kill()
	killed := time.Now()
	await(t, "an answer to every message", w.allAnswered)
	took := time.Since(killed)
	w.audit()
	if took > 15*time.Second+3*time.Second { // the second message of each person is another call
		t.Errorf("everything was answered %v after the kill", took)
	}
	t.Logf("everything was answered %v after the kill: %s", took.Round(time.Millisecond), w.summary())
}

// A host that was stopped wakes up with its work done, to find that another
// has done it.
func TestZombie(t *testing.T) {
	t.Parallel()
	m := startModel(t, 0)
	w := external(t, m.url)
	serving, _ := w.pair()
	m.delay.Store(int64(2 * time.Second))
	said := w.begin(talk{channel: chat, people: 20, each: 3, from: 1, every: 4 * time.Second})
	await(t, "all runs", func() bool { return m.calling.Load() == 20 })
	serving.signal(syscall.SIGSTOP)
	stopped := time.Now()
	<-time.After(pick(10*time.Second, 30*time.Second)) // the chaos itself
	await(t, "the other host to serve", func() bool { return w.since(stopped) })
	serving.signal(syscall.SIGCONT)
	<-said
	w.hold(talk{channel: chat, people: 20, each: 1, from: 4})
	const refused = "another host has written to this session"
	await(t, "a refused commit", func() bool { return serving.logged(refused) })
	w.audit()
	t.Logf("stopped for %v, its commits refused: %s", time.Since(stopped).Round(time.Second), w.summary())
}
