package streams_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// A cluster answers only one of those who create the same stream at once. The
// others do not wait for an answer that never comes.
func TestProvisionByManyHostsOnAFreshCluster(t *testing.T) {
	t.Parallel()
	c := bustest.StartFreshCluster(t)
	var hosts []jetstream.JetStream
	for i := range 6 {
		hosts = append(hosts, bustest.OpenConfig(t, bus.Config{URL: c.URL(i % 3)}).JS)
	}
	bustest.Eventually(t, "the cluster has a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := hosts[0].AccountInfo(ctx)
		return err == nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all errgroup.Group
	for i, js := range hosts {
		all.Go(func() error {
			if err := streams.Provision(ctx, js, 3, 0, bustest.Log(t)); err != nil {
				return fmt.Errorf("host %d: %w", i+1, err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	got := bustest.ListStreams(t, hosts[0])
	if len(got) != len(fresh) {
		t.Errorf("streams: got %d, want %d: %q", len(got), len(fresh), got)
	}
}
