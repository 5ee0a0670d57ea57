//go:build long

package bustest_test

import (
	"errors"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestClusterLags is the canary of Cluster: a copy that lags says that a stored
// message is not there, until it has caught up.
func TestClusterLags(t *testing.T) {
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(1)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	stream, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	catchUp := c.Lag("S")
	if _, err := b.JS.Publish(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := stream.GetMsg(t.Context(), 1); !errors.Is(err, jetstream.ErrMsgNotFound) {
			t.Fatalf("a copy that lags: got %v, want %v", err, nats.ErrMsgNotFound)
		}
	}
	catchUp()
	for {
		if _, err := stream.GetMsg(t.Context(), 1); err == nil {
			break
		} else if !errors.Is(err, jetstream.ErrMsgNotFound) {
			t.Fatal(err)
		}
	}
}
