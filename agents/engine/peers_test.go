package engine_test

import (
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/tools"
)

// Who would refuse is not offered: the model would ask in vain.
func TestPeersThatRefuseAreNotOffered(t *testing.T) {
	peers := &engine.Peers{}
	offered := func(cfg agents.Config, list ...engine.Peer) int {
		peers.Set(list)
		box := &engine.Toolbox{Registry: tools.NewRegistry(), Grant: tools.GrantOf("delegate")}
		return engine.Measure(cfg, box, peers).Host.Bytes
	}
	ana := agents.Config{ID: "ana", Delegates: []string{"*"}}
	open := engine.Peer{ID: "open", Description: "Takes all."}
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
		got := offered(ana, open, engine.Peer{ID: "ops", Description: strings.Repeat("x", 9), Accepts: tt.accepts})
		if (got > one) != tt.offered {
			t.Errorf("%s: the prompt has %d bytes, and %d without", name, got, one)
		}
	}
}
