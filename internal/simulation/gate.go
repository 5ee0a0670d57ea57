package simulation

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// A gate is where the code of a host waits for something outside that is not NATS: for
// a model or a tool. The scheduler opens it.
type gate struct {
	life  *life
	label string
	act   func() // what happens outside when it opens; it may be nil
	open  chan struct{}
}

// gates are those with a goroutine waiting.
type gates struct {
	mu   sync.Mutex
	list []*gate
	wake chan struct{}
}

// pass waits until the scheduler lets the caller through.
func (g *gates) pass(ctx context.Context, l *life, label string, act func()) error {
	at := &gate{l, label, act, make(chan struct{})}
	g.mu.Lock()
	g.list = append(g.list, at)
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
	select {
	case <-at.open:
		return nil
	case <-ctx.Done():
		g.remove(at)
		return ctx.Err()
	}
}

func (g *gates) remove(at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(other *gate) bool { return other == at })
}

// waiting are the gates of hosts that live.
func (g *gates) waiting() []*gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(g.list), func(at *gate) bool { return at.life.dead.Load() })
	slices.SortStableFunc(list, func(a, b *gate) int { return strings.Compare(a.life.name+a.label, b.life.name+b.label) })
	return list
}
