//go:build long

package upgrade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"agenthost/bus"
	"agenthost/bus/bustest"
)

// The hosts of a fleet that has a cluster are started at the same time, each on a
// server of its own: what is scheduled and what waits is there afterwards, once.
func TestUpgradeOfReplicasByManyHosts(t *testing.T) {
	t.Parallel()
	c := bustest.StartCluster(t)
	var hosts []jetstream.JetStream
	for i := range 3 {
		b := bustest.OpenConfig(t, bus.Config{URL: c.URL(i)})
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, b.JS)
	}
	oldReplicas(t, hosts[0], 3)
	var all errgroup.Group
	for _, js := range hosts {
		all.Go(func() error { return provisionAsHost(t, js) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	wantUpgraded(t, hosts[1])
	for _, js := range hosts {
		if due := contents(t, js, bus.SchedulesStream); len(due) != 3 {
			t.Errorf("got %d messages, want each of the three once: %q", len(due), due)
		}
	}
	if got := workOfLane(t, hosts[2], "work 4"); !slices.IsSorted(got) || !slices.Contains(got, "work 1") || !slices.Contains(got, "work 3") {
		t.Errorf("the lane brings %q, want the messages that were not acknowledged, in order", got)
	}
}

// A host may die at any moment of the upgrade: another process kills itself when it
// has logged so many lines of it, and the next host goes on.
func TestUpgradeAfterSIGKILL(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	prepared := openStore(t, store)
	oldRoutes(t, prepared.JS)
	prepared.Close()
	for n, killed := 1, true; killed; n++ {
		dir := filepath.Join(t.TempDir(), strconv.Itoa(n))
		if err := os.CopyFS(dir, os.DirFS(store)); err != nil {
			t.Fatal(err)
		}
		var at string
		killed, at = upgradeAndDie(t, dir, n)
		t.Run(fmt.Sprint(n, " ", at), func(t *testing.T) {
			t.Parallel()
			b := openStore(t, dir)
			bustest.Provision(t, b.JS)
			wantUpgraded(t, b.JS)
		})
		if !killed && n < 15 {
			t.Fatalf("only %d places to die", n-1)
		}
	}
}

func TestUpgradeOfReplicas(t *testing.T) {
	t.Parallel()
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	oldReplicas(t, b.JS, 3)
	if err := provisionAsHost(t, b.JS); err != nil {
		t.Fatal(err)
	}
	wantUpgraded(t, b.JS)
	if c := bustest.StreamConfig(t, b.JS, bus.RoutesStream); c.Replicas != 3 {
		t.Errorf("got %d replicas, want 3", c.Replicas)
	}
}
