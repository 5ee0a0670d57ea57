//go:build unix && long

package chaos_test

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestBehaviorKilledWhileItDecides kills a host in the middle of a Decide, again
// and again: every message is answered once and in order.
func TestBehaviorKilledWhileItDecides(t *testing.T) {
	t.Parallel()
	p := plan{agents: []string{
		"{id: ana, behavior: slow, channels: [chat], tools: [now]}",
		"{id: col, behavior: slow, channels: [{channel: notes, queue: collect, debounce: 20ms}], tools: [now]}",
	}}
	w := p.open(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := newProcess(t, "host", self)
	h.env = []string{behaviorVar + "=" + w.config}
	var decisions atomic.Int64
	if _, err := w.nc.Subscribe(deciding, func(*nats.Msg) { decisions.Add(1) }); err != nil {
		t.Fatal(err)
	}
	h.start()
	said := w.begin(load(pick(10, 40), pick(12, 40), pick(3*time.Second, 20*time.Second))...)
	kills := 0
	for ; kills < pick(3, 20); kills++ {
		w.rest()
		seen := decisions.Load()
		await(t, "decisions", func() bool { return decisions.Load() >= seen+5 || isClosed(said) && w.allAnswered() })
		h.kill()
		h.start()
	}
	<-said
	w.audit()
	t.Logf("host killed %d times, %d decisions: %s", kills, decisions.Load(), w.summary())
}
