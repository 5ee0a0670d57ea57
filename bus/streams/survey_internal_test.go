package streams

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestStateOfReplicas(t *testing.T) {
	t.Parallel()
	current, behind := &jetstream.PeerInfo{Name: "n2", Current: true}, &jetstream.PeerInfo{Name: "n3"}
	tests := map[string]struct {
		cluster          *jetstream.ClusterInfo
		copies, replicas int
		fault            string
	}{
		"outside a cluster":    {nil, 0, 3, ""},
		"all are up to date":   {&jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{current, current}}, 3, 3, ""},
		"one lags behind":      {&jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{current, behind}}, 3, 2, ""},
		"one is away":          {&jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{current, {Current: true, Offline: true}}}, 3, 2, ""},
		"one was removed":      {&jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{current}}, 2, 2, ""},
		"no server is to lead": {&jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{current, behind}}, 3, 2, "max_file_store"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := streamConfig("AGENT_ROUTES", 3)
			got := stateOf(&jetstream.StreamInfo{Config: want, Cluster: tt.cluster}, want, 0)
			if got.Has != 3 || got.Copies != tt.copies || got.Replicas != tt.replicas {
				t.Errorf("got %d of %d replicas in %d copies, want %d of 3 in %d", got.Replicas, got.Has, got.Copies, tt.replicas, tt.copies)
			}
			text := ""
			if got.Fault != nil {
				text = got.Fault.Error()
			}
			if (tt.fault == "") != (text == "") || !strings.Contains(text, tt.fault) {
				t.Errorf("got the fault %q, want %q", text, tt.fault)
			}
		})
	}
}
