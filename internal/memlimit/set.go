package memlimit

import (
	"os"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// gcPercent lets the heap of a host grow to three times what is in use before it
// is collected: it holds little for long, and makes much for a moment.
const gcPercent = 200

// Set sets how the process deals with memory, for as long as it lives: near a soft limit
// the collector works harder, where the kernel would end the process. GOMEMLIMIT and GOGC
// in the environment override it.
func Set(getenv func(string) string, log zerolog.Logger) {
	setLimit(getenv, log)
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

func setLimit(getenv func(string) string, log zerolog.Logger) {
	if limit := getenv("GOMEMLIMIT"); limit != "" {
		log.Info().Str("soft_limit", limit).Msg("memory: soft limit is that of GOMEMLIMIT")
		return
	}
	bound := Find(os.DirFS("/"))
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
