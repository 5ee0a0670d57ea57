//go:build long

package sandbox_test

import (
	"strings"
	"testing"

	"agenthost/internal/sandbox"
)

// A command with the network has that of the internet, and no other socket.
func TestCommandsWithTheNetwork(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			v, w := newVictim(t), open(t, level)
			w.network = true
			w.arm(t)
			for name, want := range map[string]string{
				"tcp": "got through", "udp": "got through", "routes": "got through",
				"unix": "refused", "abstract": "refused", "other-family": "refused", "any-pair": "refused", "io-uring": "refused",
			} {
				if got := w.attack(t, v, name)[name]; !strings.HasPrefix(got, want) {
					t.Errorf("%s: got %q, want %s", name, got, want)
				}
			}
		})
	}
}
