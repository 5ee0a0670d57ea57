//go:build long

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"agenthost/internal/waittest"

	"agenthost/bus/bustest"
)

// Two hosts share the partitions of an agent; one stops in between, and starts again.
func TestPartitionsOnTwoHosts(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	w := newWorldOn(t, b, 1, hot(8))
	second := w.beside("second", hot(8))
	const persons, each = 24, 200
	check := w.listening(persons, each)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := range each {
			w.write(persons, n, n+1)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	for i := 0; ; i++ {
		select {
		case <-written:
			check()
			return
		case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
		}
		switch n := random.IntN(10); i % 3 {
		case 0:
			w.divide(n)
			second.divide(n)
		case 1:
			second.stop()
		default:
			second.start(hot(w.layoutOf("ana").Partitions))
		}
	}
}

// The number of partitions changes while people write, up and down, and to none.
func TestPartitionsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(0))
	const persons, each = 20, 60
	check := w.listening(persons, each)
	go func() {
		for n := range each {
			w.write(persons, n, n+1)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for _, n := range []int{4, 2, 0, 8, 3} {
		w.divide(n)
		waittest.Until(t, fmt.Sprint("there are ", n), func() bool { l := w.layoutOf("ana"); return l.Settled && l.Partitions == n })
	}
	check()
}
