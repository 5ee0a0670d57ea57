package main

import (
	"context"
	"runtime/debug"

	"agenthost/host"
)

// gcPercent lets the heap of a host grow to three times what is in use before it
// is collected: it holds little for long, and makes much for a moment. GOGC in
// the environment overrides it.
const gcPercent = 200

// tuneMemory sets how the process deals with memory. What the start of h has
// used for a moment goes back to the system when it is ready, or ctx ends.
func (a *app) tuneMemory(ctx context.Context, h *host.Host) (wait func()) {
	if a.getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-h.Ready():
			debug.FreeOSMemory()
		case <-ctx.Done():
		}
	}()
	return func() { cancel(); <-done }
}
