//go:build long

package chaos_test

import (
	"os"
	"testing"
	"time"

	"agenthost/bench"
)

// memoryVar says for how long the host is saturated, instead of a few seconds.
const memoryVar = "AGENTHOST_CHAOS_MEMORY"

// A host that is saturated keeps within its memory and loses nothing. Its soft
// limit is what a host sets itself in a cgroup of 512 MB.
func TestMemoryAtSaturation(t *testing.T) {
	const bound = 512 << 20
	t.Setenv("GOMEMLIMIT", "384MiB")
	opt := bench.Options{
		Program: binary, Duration: pick(5*time.Second, time.Minute), Rounds: 1, NoRaw: true, Sync: "2m", Dir: t.TempDir(),
		Quiet: patience,
	}
	if s := os.Getenv(memoryVar); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("%s: %v", memoryVar, err)
		}
		opt.Duration = d
	}
	r, err := bench.Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if r.Host.Any() || r.Host.Messages == 0 {
		t.Errorf("%d messages, of which went wrong: %+v", r.Host.Messages, r.Host.Faults)
	}
	if r.Host.Largest >= bound {
		t.Errorf("the host took %d MB, want less than %d", r.Host.Largest>>20, bound>>20)
	}
	t.Logf("%d messages, %.0f a second, at most %d MB", r.Host.Messages, r.Host.PerSecond, r.Host.Largest>>20)
}
