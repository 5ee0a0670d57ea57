package discord

import (
	"testing"
	"time"

	"agenthost/plugins"
)

// A limit without a time is no leave to ask again at once: Discord bans the address of who does.
func TestPause(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]time.Duration{0: time.Second, 300 * time.Millisecond: 300 * time.Millisecond, time.Minute: time.Minute} {
		if got := pause(&plugins.RateLimitError{After: after}); got != want {
			t.Errorf("a limit of %s: waits %s, want %s", after, got, want)
		}
	}
}
