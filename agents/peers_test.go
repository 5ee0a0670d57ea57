package agents_test

import (
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

// Who would refuse is not offered: the model would ask in vain.
func TestPeersThatRefuseAreNotOffered(t *testing.T) {
	parts := &agents.Parts{Peers: &agents.Peers{}, Log: zerolog.Nop()}
	offered := func(cfg agents.Config, peers ...agents.Peer) int {
		parts.Peers.Set(peers)
		box := &agents.Toolbox{Registry: tools.NewRegistry(), Grant: tools.GrantOf("delegate")}
		return agents.Measure(cfg, box, parts).Host.Bytes
	}
	ana := agents.Config{ID: "ana", Delegates: []string{"*"}}
	open := agents.Peer{ID: "open", Description: "Takes all."}
	one := offered(ana, open)
	if one == 0 {
		t.Fatal("an agent that takes all is not offered")
	}
	for name, tt := range map[string]struct {
		accepts []string
		offered bool
	}{
		"others only": {[]string{"kate"}, false}, "her": {[]string{"kate", "ana"}, true}, "everyone": {[]string{"*"}, true}, "all": {nil, true},
	} {
		got := offered(ana, open, agents.Peer{ID: "ops", Description: strings.Repeat("x", 9), Accepts: tt.accepts})
		if (got > one) != tt.offered {
			t.Errorf("%s: the prompt has %d bytes, and %d without", name, got, one)
		}
	}
}
