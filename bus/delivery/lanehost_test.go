package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fleet is a server in this process, with the streams of a fleet, for hosts
// that each have a connection of their own.
func fleet(t *testing.T) *server.Server {
	t.Helper()
	ns := startIn(t, bustest.Dir(t))
	_, js := connect(t, ns)
	bustest.Provision(t, js)
	return ns
}

// startIn starts a server in this process on a store, which may be that of an
// earlier one.
func startIn(t *testing.T, store string) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { stopServer(ns) })
	if !ns.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return ns
}

func stopServer(ns *server.Server) {
	ns.Shutdown()
	ns.WaitForShutdown()
}

func connect(t *testing.T, ns *server.Server) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	return connectThrough(t, &door{server: ns})
}

func connectThrough(t *testing.T, d *door) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(d), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default writes to the output of the tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

// A door is the way into a server. Shut, it lets no new connection in.
type door struct {
	server *server.Server
	shut   atomic.Bool
}

func (d *door) InProcessConn() (net.Conn, error) {
	if d.shut.Load() {
		return nil, errors.New("the door is shut")
	}
	return d.server.InProcessConn()
}

// A host serves one lane and hands its deliveries to the test.
type host struct {
	*delivery.Lane
	t      *testing.T
	door   *door
	nc     *nats.Conn
	got    chan *delivery.Delivery
	gained chan struct{}

	ctx, hold     context.Context
	pull, release context.CancelFunc
	done          chan error
}

const web = "plugin.inbound.web"

// join starts a host with a connection of its own on lane 0.
func join(t *testing.T, ns *server.Server, name string, filters ...string) *host {
	t.Helper()
	return joinLane(t, ns, name, 0, filters...)
}

func joinLane(t *testing.T, ns *server.Server, name string, n int, filters ...string) *host {
	t.Helper()
	d := &door{server: ns}
	_, js := connectThrough(t, d)
	if filters == nil {
		filters = []string{web}
	}
	return serveLane(t, js, d, name, n, filters...)
}

func serveLane(t *testing.T, js jetstream.JetStream, d *door, name string, n int, filters ...string) *host {
	t.Helper()
	return serveConfig(t, js, d, delivery.LaneConfig{Stream: bus.InboundStream, Name: delivery.LaneName(n), Filters: filters, Host: name})
}

func serveConfig(t *testing.T, js jetstream.JetStream, d *door, cfg delivery.LaneConfig) *host {
	t.Helper()
	h := &host{t: t, door: d, nc: js.Conn(), got: make(chan *delivery.Delivery, 10_000), gained: make(chan struct{}, 100), done: make(chan error, 1)}
	h.Lane = delivery.NewLane(js, cfg, bustest.Log(t).With().Str("host", cfg.Host).Logger(),
		func(context.Context, string) { h.gained <- struct{}{} }, func(d *delivery.Delivery) { h.got <- d })
	h.ctx, h.pull = context.WithCancel(context.Background())
	h.hold, h.release = context.WithCancel(context.Background())
	go func() { h.done <- h.Run(h.ctx, h.hold) }()
	t.Cleanup(sync.OnceFunc(h.stop))
	<-h.Up()
	return h
}

// stop ends the lane as a host does that has finished its work.
func (h *host) stop() {
	h.pull()
	h.release()
	if h.done == nil {
		return
	}
	if err := <-h.done; err != nil {
		h.t.Errorf("Run: got %v, want nil", err)
	}
	h.done = nil
}

// flush waits until the server has what the host sent.
func (h *host) flush() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	if err := h.nc.FlushWithContext(ctx); err != nil {
		h.t.Fatal(err)
	}
}

// die cuts the host off: it neither acknowledges nor lets go.
func (h *host) die() {
	h.nc.Close()
	h.stop()
}

// take waits for n deliveries.
func (h *host) take(n int) []*delivery.Delivery {
	h.t.Helper()
	var list []*delivery.Delivery
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for range n {
		select {
		case d := <-h.got:
			list = append(list, d)
		case <-limit.C:
			h.t.Fatalf("got %v, want %d deliveries", describe(list), n)
		}
	}
	return list
}

// want takes as many deliveries as there are in list and compares them; a
// delivery that is Tried ends in a question mark.
func (h *host) want(list ...string) []*delivery.Delivery {
	h.t.Helper()
	got := h.take(len(list))
	if diff := cmp.Diff(list, describe(got)); diff != "" {
		h.t.Errorf("deliveries: %s", diff)
	}
	return got
}

// quiet checks that nothing is delivered for a while, of the fake clock.
func (h *host) quiet(d time.Duration) {
	h.t.Helper()
	time.Sleep(d)
	if len(h.got) > 0 {
		h.t.Errorf("got a delivery of %v, want none", describe(h.take(len(h.got))))
	}
}

func describe(list []*delivery.Delivery) []string {
	var out []string
	for _, d := range list {
		s := fmt.Sprint(string(d.Data()))
		if d.Tried {
			s += "?"
		}
		if d.Handed {
			s += "~"
		}
		out = append(out, s)
	}
	return out
}

func each(list []*delivery.Delivery, call func(*delivery.Delivery)) {
	for _, d := range list {
		call(d)
	}
}
