//go:build long

package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"agenthost/bus"
	"agenthost/host"
	"agenthost/internal/waittest"
)

// A reply that no stream takes holds up no stop.
func TestStopWithAReplyThatNoStreamTakes(t *testing.T) {
	t.Parallel()
	log := watched("publish is not acknowledged")
	h := host.New(host.Options{Config: demo(t), Log: zerolog.New(log), Grace: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	<-h.Ready()
	if err := h.Bus().JS.DeleteStream(t.Context(), bus.OutboundStream); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Bus().JS.Publish(t.Context(), "plugin.inbound.demo", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	<-log.seen
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(waittest.Within):
		t.Fatal("the host does not stop")
	}
}
