package main

import (
	"context"
	"os"
	"runtime/debug"

	"agenthost/host"

	"github.com/rs/zerolog"
)

// gcPercent lets the heap of a host grow to three times what is in use before it
// is collected: it holds little for long, and makes much for a moment. GOGC in
// the environment overrides it.
const gcPercent = 200

// limitMemory sets a soft limit for the memory of the process, by that of its
// cgroup or of the machine: near it the collector works harder, where the kernel
// would end the process. GOMEMLIMIT in the environment overrides it.
func (a *app) limitMemory(log zerolog.Logger) {
	if limit := a.getenv("GOMEMLIMIT"); limit != "" {
		log.Info().Str("soft_limit", limit).Msg("memory: soft limit is that of GOMEMLIMIT")
		return
	}
	bound := host.FindMemoryBound(os.DirFS("/"))
	if bound.Bytes == 0 {
		return
	}
	of := "the machine's"
	if bound.Cgroup {
		of = "the cgroup's"
	}
	debug.SetMemoryLimit(bound.Soft())
	log.Info().Msgf("memory: soft limit %d MB (%d %% of %s %d MB)", bound.Soft()>>20, bound.Part(), of, bound.Bytes>>20)
}

// tuneMemory sets how the process deals with memory. What the start of h has
// used for a moment goes back to the system when it is ready, or ctx ends.
func (a *app) tuneMemory(ctx context.Context, h *host.Host, log zerolog.Logger) (wait func()) {
	a.limitMemory(log)
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
