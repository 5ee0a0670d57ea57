//go:build unix && long

package chaos_test

import (
	"testing"
	"time"
)

func TestNATSKilledAtRandom(t *testing.T) {
	t.Parallel()
	rng, w := newRand(t), external(t, "")
	h := newHost(t, w.config, "a")
	h.start()
	said := w.begin(load(pick(10, 50), pick(10, 40), pick(4*time.Second, 30*time.Second))...)
	kills := breakUntil(said, rng, 800*time.Millisecond, 3*time.Second, func() {
		w.nats.kill()
		w.nats.start()
	})
	w.audit()
	t.Logf("nats-server killed %d times: %s", kills, w.summary())
}
