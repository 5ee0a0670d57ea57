//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A quota bounds how many processes of a kind are harmed at once, so that a fleet
// has a host and the cluster a majority most of the time.
type quota struct {
	mu    sync.Mutex
	taken int
}

func (q *quota) take(most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken >= max(most, 1) {
		return false
	}
	q.taken++
	return true
}

// releaseAfter leaves time to recover: a cluster that is harmed while it still
// chooses its leaders never has any.
func (q *quota) releaseAfter(rest time.Duration) { time.AfterFunc(rest, q.release) }

func (q *quota) release() {
	q.mu.Lock()
	q.taken--
	q.mu.Unlock()
}

// A harm is one fault that was done.
type harm struct {
	kind      string
	at, until time.Time
}

// breakThings does a fault a second, of those that are chosen, until ctx ends,
// and returns when all of them are over.
func (h *harness) breakThings(ctx context.Context, rng *rand.Rand, chosen []string) {
	var bag []string
	for _, kind := range chosen {
		for range faults[kind].often {
			bag = append(bag, kind)
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(h.opt.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tries := make([]attempt, 12)
		for n := range tries {
			tries[n] = attempt{bag[rng.IntN(len(bag))], draw(rng)}
		}
		all.Go(func() { h.harmOnce(tries) })
	}
}

// An attempt is a fault as it was drawn.
type attempt struct {
	kind string
	dice *dice
}

// harmOnce does the first fault that can be done now.
func (h *harness) harmOnce(tries []attempt) {
	for _, a := range tries {
		begun := time.Now()
		if faults[a.kind].do(h, a.dice) {
			h.harmed(a.kind, begun)
			return
		}
	}
}
