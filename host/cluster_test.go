//go:build long

package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// A host that starts while servers of its cluster are away waits for them, says once what
// for, and goes on when they are there.
func TestStartWhileServersAreAway(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		streams bool  // they are there from before
		away    []int // of the three servers
		says    string
	}{
		"a new fleet on two of three":    {false, []int{2}, "nats.replicas 3, and the cluster of NATS has too few servers with room at the moment; start those that are away"},
		"a fleet of old on one of three": {true, []int{1, 2}, "its cluster has no leader, as when half of its servers are away; start those that are"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bustest.StartCluster(t)
			cfg := demo(t)
			cfg.NATS.URL, cfg.NATS.Replicas = c.URL(0), 3
			if tt.streams {
				_, stop := start(t, cfg)
				stop()
				c.Settle()
			}
			for i := range 3 { // those that come back have not heard of the others
				c.Stop(i)
			}
			for i := range 3 {
				if !slices.Contains(tt.away, i) {
					c.Start(i)
				}
			}
			for _, stops := range []bool{true, false} {
				log := watched(tt.says)
				h := host.New(host.Options{Config: cfg, Log: zerolog.New(zerolog.MultiLevelWriter(log, zerolog.NewTestWriter(t))).Level(zerolog.InfoLevel)})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- h.Run(ctx) }()
				select {
				case <-log.seen:
				case err := <-done:
					t.Fatalf("the host ends: %v", err)
				case <-time.After(waittest.Within):
					t.Fatal("it does not say what it waits for")
				}
				waittest.Until(t, "it says what it waits for", func() bool {
					body := readyz(t, h)
					return body["status"] == "not ready" && strings.Contains(body["reason"], tt.says)
				})
				if stops {
					cancel()
				} else {
					for _, i := range tt.away {
						c.Start(i)
					}
					waittest.For(t, "the host is ready", h.Ready())
					cancel()
				}
				if err := waittest.For(t, "the host stops", done); err != nil {
					t.Errorf("Run: %v", err)
				}
				// Where it goes on to the next server, it says for what as well: that is no warning.
				if n := log.warnings(tt.says); n != 1 {
					t.Errorf("said %d times what it waits for, want once", n)
				}
			}
			c.Settle()
		})
	}
}
