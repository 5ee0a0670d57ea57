package host_test

import (
	"context"
	"strings"
	"testing"

	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// A single server will never keep three copies: the host ends.
func TestReplicasWithoutACluster(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.NATS.Replicas = 3
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	err := host.New(host.Options{Config: cfg, Log: zerolog.New(zerolog.NewTestWriter(t))}).Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "nats.replicas 3, and this NATS is a single server; set nats.replicas to 1") {
		t.Errorf("got %v", err)
	}
}
