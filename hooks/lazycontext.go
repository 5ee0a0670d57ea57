package hooks

import (
	"context"
	"sync"
	"time"
)

// A lazyContext is its parent until somebody asks when it ends; only then is
// the context made that can end by itself. Most handlers never ask.
type lazyContext struct {
	parent context.Context //nolint:containedctx // it is one

	mu     sync.Mutex
	made   context.Context //nolint:containedctx // as above
	cancel context.CancelCauseFunc
	ended  bool
	why    error
}

func (c *lazyContext) own() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithCancelCause(c.parent)
		if c.ended {
			c.cancel(c.why)
		}
	}
	return c.made
}

// end ends the context; the first cause counts.
func (c *lazyContext) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.why = true, why
	if c.cancel != nil {
		c.cancel(why)
	}
}

func (c *lazyContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }
func (c *lazyContext) Done() <-chan struct{}       { return c.own().Done() }
func (c *lazyContext) Err() error                  { return c.own().Err() }
func (c *lazyContext) Value(key any) any           { return c.own().Value(key) }
