//go:build unix && long

package chaos_test

import (
	"testing"
	"time"
)

// A takeover is promised within 10 s; a busy machine may add to it.
const takeoverWithin = 12 * time.Second

// pair is two hosts of one fleet, of which the first serves: it has answered
// everything that was said so far.
func (w *world) pair() (serving, standby *process) {
	w.t.Helper()
	serving, standby = newHost(w.t, w.config, "a"), newHost(w.t, w.config, "b")
	serving.start()
	w.hold(talk{channel: chat, people: 2, each: 1, word: "first"})
	w.audit()
	standby.start()
	await(w.t, "the other host", func() bool { return standby.logged(`"ready"`) })
	return serving, standby
}

// A host that comes back under its name does not wait for its dead self.
func TestRestart(t *testing.T) {
	w := external(t, "")
	h := newHost(t, w.config, "a")
	h.start()
	said := w.begin(talk{channel: chat, people: 10, each: pick(20, 60), every: 100 * time.Millisecond})
	<-time.After(time.Second) // into the load
	h.kill()
	killed := time.Now()
	h.start()
	<-said
	w.audit()
	took := w.firstAfter(killed)
	if took > 3*time.Second {
		t.Errorf("the first answer came %v after the restart", took)
	}
	t.Logf("first answer %v after the restart: %s", took.Round(time.Millisecond), w.summary())
}
