package doctor

import (
	"strings"
	"testing"

	"agenthost/bus/streams"
)

// A server that lags and one that was removed from the cluster need different cures.
func TestReplicasThatAreMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		state      streams.State
		text, cure string
	}{
		"up to date": {streams.State{Has: 3, Replicas: 3, Copies: 3}, "", ""},
		"behind":     {streams.State{Has: 3, Replicas: 2, Copies: 3}, "2 of its 3 replicas are up to date", "start the servers that are down"},
		"removed":    {streams.State{Has: 3, Replicas: 2, Copies: 2}, "2 servers keep it, and it is to have 3 replicas", "under another name"},
		"alone":      {streams.State{Has: 1, Replicas: 1}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notes{}
			n.on("nats", "AGENT_INBOUND").stream(tt.state)
			var text, cure string
			for _, f := range n.list {
				text, cure = text+f.Text, cure+f.Cure
			}
			if text != tt.text || !strings.Contains(cure, tt.cure) || tt.cure == "" && cure != "" {
				t.Errorf("got %q and the cure %q, want %q and %q", text, cure, tt.text, tt.cure)
			}
		})
	}
}
