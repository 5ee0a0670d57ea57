// Package clock bounds work by a time that can stand still.
package clock

import (
	"context"
	"sync"
	"time"
)

// A clock ends a context after a time that can stand still.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time
	stopped int
}

type clockKey struct{}

// With is ctx with a clock of its own, which ends it, with the cause
// context.DeadlineExceeded, after d.
func With(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: d, since: time.Now()}
	c.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return context.WithValue(ctx, clockKey{}, c), func() {
		c.timer.Stop()
		cancel(context.Canceled)
	}
}

// Pause has the clock of ctx, if it has one, stand still until resume is called.
func Pause(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	c.stop()
	return c.resume
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped++; c.stopped == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped--; c.stopped == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
