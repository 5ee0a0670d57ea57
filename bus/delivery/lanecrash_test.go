package delivery_test

import (
	"os"
	"path/filepath"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats-server/v2/server"
)

// A server that dies with its host may have forgotten what it delivered, as it
// writes that down from time to time only. So all that it had stored counts as
// tried in the host's next life; what comes later does not.
func TestLaneDistrustsAServerThatDiedWithItsHost(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		nc, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2", "3")
		one.want("1", "2", "3")
		one.die()
		nc.Close()
		ns = forget(t, ns)
		_, js = connect(t, ns)
		if seq := consumer(t, js).Delivered.Stream; seq != 0 {
			t.Fatalf("the server knows of deliveries up to %d, want it to have forgotten them", seq)
		}
		again := join(t, ns, "one")
		each(again.want("1?", "2?", "3?"), (*delivery.Delivery).Done)
		bustest.Publish(t, js, web, "4")
		again.want("4")
	})
}

// forget restarts a server, without what it knew of the deliveries of lane 0.
func forget(t *testing.T, ns *server.Server) *server.Server {
	t.Helper()
	store := ns.StoreDir()
	stopServer(ns)
	known, err := filepath.Glob(filepath.Join(store, "*", "streams", bus.InboundStream, "obs", delivery.LaneName(0), "o.dat"))
	if err != nil || len(known) != 1 {
		t.Fatalf("the state of the lane is in the files %q, %v; want one", known, err)
	}
	if err := os.Remove(known[0]); err != nil {
		t.Fatal(err)
	}
	return startIn(t, filepath.Dir(store))
}
