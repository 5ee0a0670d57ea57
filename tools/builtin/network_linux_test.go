package builtin_test

import (
	"strings"
	"testing"

	"agenthost/tools/builtin"
)

// An agent with the network has that of the internet, and no other socket.
func TestCommandsWithTheNetwork(t *testing.T) {
	for _, level := range builtin.Levels() {
		t.Run(level, func(t *testing.T) {
			o := builtin.AtLevel(level)
			o.Network = func(agent string) bool { return agent == "ana" }
			v, b := newVictim(t), open(t, o)
			b.arm(t)
			for name, want := range map[string]string{
				"tcp": "got through", "udp": "got through", "routes": "got through",
				"unix": "refused", "abstract": "refused", "other-family": "refused", "any-pair": "refused", "io-uring": "refused",
			} {
				if got := b.attack(t, v, name)[name]; !strings.HasPrefix(got, want) {
					t.Errorf("%s: got %q, want %s", name, got, want)
				}
			}
		})
	}
}
