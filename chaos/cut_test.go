//go:build unix && long

package chaos_test

import (
	"testing"
	"time"
)

func TestHostCutOff(t *testing.T) {
	t.Parallel()
	w, line := proxied(t, "")
	h := newHost(t, w.config, "a")
	h.start()
	w.hold(load(10, 2, 0)...)
	w.audit()
	const cut = 5 * time.Second
	said := w.begin(from(2, load(pick(10, 50), pick(16, 40), 2*cut))...)
	<-time.After(time.Second) // into the load
	line.SetCut(true)
	<-time.After(cut) // the chaos itself
	line.SetCut(false)
	back := time.Now()
	<-said
	w.audit()
	t.Logf("cut for %v, first answer %v after it: %s", cut, w.firstAfter(back).Round(time.Millisecond), w.summary())
}

// What was delivered into a connection that broke must come again before
// anything newer does.
func TestDeliveriesLost(t *testing.T) {
	t.Parallel()
	w, line := proxied(t, "")
	h := newHost(t, w.config, "a")
	h.start()
	w.hold(load(10, 2, 0)...)
	w.audit()
	const times = 3
	said := w.begin(from(2, load(10, pick(60, 200), pick(3*time.Second, 15*time.Second)))...)
	for range times {
		<-time.After(pick(500*time.Millisecond, 3*time.Second)) // into the load
		lose(line, 200*time.Millisecond)
	}
	<-said
	w.audit()
	t.Logf("deliveries lost %d times: %s", times, w.summary())
}
