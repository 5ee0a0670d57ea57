// Package hosttest runs hosts in tests, each on an embedded server of its own.
package hosttest

import (
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// Demo is the configuration of the demo agent, with a store of its own and
// without a NATS port.
func Demo(t testing.TB) *config.Config {
	t.Helper()
	cfg := config.Demo()
	none := ""
	cfg.NATS.Embedded = bus.Embedded{Store: bustest.Dir(t), Listen: &none}
	cfg.HTTP.Listen = "127.0.0.1:0"
	return cfg
}

// Log logs to a test.
func Log(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
}

// Start runs a host until stop is called or the test ends. It returns when the
// host is ready.
func Start(t testing.TB, opt host.Options) (h *host.Host, stop func()) {
	t.Helper()
	opt.Grace, opt.Version = 5*time.Second, "0.1.0"
	h = host.New(opt)
	return h, Serve(t, h)
}

// Serve runs a host until stop is called or the test ends. It returns when the
// host is ready.
func Serve(t testing.TB, h *host.Host) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := waittest.For(t, "the host stops", done); err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case <-h.Ready():
	case err := <-done:
		stopped = true
		t.Fatalf("Run: %v", err)
	case <-time.After(waittest.Within):
		t.Fatal("the host does not get ready")
	}
	return stop
}
