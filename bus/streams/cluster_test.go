package streams_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// cluster is three servers in this process that know each other.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var nodes []*server.Server
	for i, port := range ports {
		ns, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("node-%d", i+1), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		ns.Start()
		t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
		nodes = append(nodes, ns)
	}
	return nodes
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// A cluster answers only one of those who create the same stream at once. The
// others do not wait for an answer that never comes.
func TestProvisionByManyHostsOnAFreshCluster(t *testing.T) {
	nodes := cluster(t)
	var hosts []jetstream.JetStream
	for i := range 6 {
		hosts = append(hosts, bustest.OpenConfig(t, bus.Config{URL: nodes[i%len(nodes)].ClientURL()}).JS)
	}
	bustest.Eventually(t, "the cluster has a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := hosts[0].AccountInfo(ctx)
		return err == nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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
