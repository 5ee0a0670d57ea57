package engine

import (
	"context"
)

// Retire has the runtime of an agent that was removed from the configuration end:
// the runs under way go on, what waits behind them is answered with an error.
func (r *Runtime) Retire() { close(r.retired) }

func (r *Runtime) isRetired() bool {
	if r.whole != nil {
		return r.whole.isRetired()
	}
	select {
	case <-r.retired:
		return true
	default:
		return false
	}
}

// endQueued waits until every message that a removed agent has taken is answered, or
// ctx ends.
func (r *Runtime) endQueued(ctx context.Context) {
	if !r.isRetired() {
		return
	}
	r.acceptInbox()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		r.busy.Wait()
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
