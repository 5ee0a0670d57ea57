//go:build unix && long

package chaos_test

import (
	"syscall"
	"testing"
	"time"
)

// TestEverythingAtRandom does all the harm at once to a fleet of two hosts.
func TestEverythingAtRandom(t *testing.T) {
	t.Parallel()
	rng, m := newRand(t), startModel(t, 100*time.Millisecond)
	w, line := proxied(t, m.url)
	hosts := []*process{newHost(t, w.config, "a"), newHost(t, w.config, "b")}
	for _, h := range hosts {
		h.start()
	}
	harms := []func(*process){
		func(h *process) { h.kill(); h.start() },
		func(*process) { w.nats.kill(); w.nats.start() },
		func(*process) { line.SetCut(true); <-time.After(upTo(rng, 2*time.Second)); line.SetCut(false) },
		func(*process) { lose(line, upTo(rng, time.Second)) },
		func(h *process) { pause(h, upTo(rng, 9*time.Second)) },
		func(*process) { pause(w.nats, upTo(rng, 9*time.Second)) },
	}
	said := w.begin(load(pick(10, 50), pick(10, 60), pick(5*time.Second, time.Minute))...)
	harm := 0
	for !isClosed(said) {
		<-time.After(upTo(rng, 3*time.Second))
		w.rest()
		harms[rng.IntN(len(harms))](hosts[rng.IntN(len(hosts))])
		harm++
	}
	w.audit()
	t.Logf("harmed %d times: %s", harm, w.summary())
}

// pause stops a process for a while and lets it go on.
func pause(p *process, d time.Duration) {
	p.signal(syscall.SIGSTOP)
	<-time.After(d)
	p.signal(syscall.SIGCONT)
}
