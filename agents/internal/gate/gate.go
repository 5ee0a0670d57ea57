// Package gate lets work in one piece at a time.
package gate

import (
	"slices"
	"sync"
	"time"
)

// AloneFor is how long one piece of work keeps others waiting. What brings a host down
// mostly does so at once, in far less; a model that hangs takes minutes, and the
// messages behind it have to get their answers.
const AloneFor = 30 * time.Second

// A Gate lets pieces of work in one at a time, in the order they came. The next is let
// in when the one before has left, or has been inside for AloneFor. What waits holds no
// goroutine. The zero Gate is ready.
type Gate[K comparable] struct {
	mu      sync.Mutex
	held    bool // for alone
	alone   K    // let in last, while others wait for it
	timer   *time.Timer
	inside  []K
	waiting []waiting[K]
}

// A waiting piece of work is begun when it is let in.
type waiting[K comparable] struct {
	key   K
	since time.Time
	begin func(waited time.Duration)
}

func (w waiting[K]) goOn() { w.begin(time.Since(w.since)) }

// Enter reports whether key may go on now. If not, begin is called when it may.
func (g *Gate[K]) Enter(key K, begin func(waited time.Duration)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case slices.Contains(g.inside, key):
		return true
	case !g.held:
		g.admit(key)
		return true
	}
	g.waiting = append(g.waiting, waiting[K]{key, time.Now(), begin})
	return false
}

// admit is called with the lock held.
func (g *Gate[K]) admit(key K) {
	g.held, g.alone, g.inside = true, key, append(g.inside, key)
	g.timer = time.AfterFunc(AloneFor, func() { g.next(key) })
}

// Leave ends what Enter began.
func (g *Gate[K]) Leave(key K) {
	g.mu.Lock()
	g.inside = slices.DeleteFunc(g.inside, func(other K) bool { return other == key })
	g.mu.Unlock()
	g.next(key)
}

// next lets in what has waited longest, if it is key that it waits for.
func (g *Gate[K]) next(key K) {
	if w, ok := g.open(key); ok {
		w.goOn()
	}
}

func (g *Gate[K]) open(key K) (next waiting[K], ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.held || g.alone != key {
		return next, false
	}
	g.timer.Stop()
	var none K
	g.held, g.alone = false, none
	if len(g.waiting) == 0 {
		return next, false
	}
	next = g.waiting[0]
	g.waiting = slices.Delete(g.waiting, 0, 1)
	g.admit(next.key)
	return next, true
}

// Release begins what waits and fits, without letting it in.
func (g *Gate[K]) Release(fits func(K) bool) {
	for _, w := range g.take(fits) {
		w.goOn()
	}
}

func (g *Gate[K]) take(fits func(K) bool) (gone []waiting[K]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(w waiting[K]) bool {
		if fits(w.key) {
			gone = append(gone, w)
			return true
		}
		return false
	})
	return gone
}

// Waiting is how many wait that fit.
func (g *Gate[K]) Waiting(fits func(K) bool) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.waiting {
		if fits(w.key) {
			n++
		}
	}
	return n
}
