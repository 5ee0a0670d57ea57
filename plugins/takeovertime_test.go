package plugins_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A fleet is two hosts with one account; the first owns it.
type fleet struct {
	*testing.T
	platform      *memory
	held          chan struct{} // the first host has a reply that it does not deliver
	watch         *bus.Bus
	first, second *member
}

func newFleet(t *testing.T, between time.Duration) *fleet {
	t.Helper()
	ns := startServer(t)
	f := &fleet{T: t, platform: newMemory(chatLimits()), held: make(chan struct{}, 1)}
	f.watch = join(t, ns).bus
	bustest.Provision(t, f.watch.JS)
	f.first = join(t, ns).start(t, "host-1", &gated{Channel: f.platform, waiting: f.held})
	f.first.connected()
	time.Sleep(between)
	f.second = join(t, ns).start(t, "host-2", slowLogin{f.platform, 2 * time.Second})
	f.second.state(plugins.StateStandby)
	return f
}

func (f *fleet) leaveUnderWay(n int) {
	f.Helper()
	if n > 0 {
		send(f, f.watch, numbered("ana", 0, n)...)
		<-f.held
	}
}

// takeover is how long it takes until the second host is connected.
func (f *fleet) takeover(die func(*member), underWay, waiting int) time.Duration {
	f.Helper()
	if open := f.platform.connections(); open != 1 {
		f.Errorf("%d connections to the platform before the death, want 1", open)
	}
	died := time.Now()
	die(f.first)
	send(f, f.watch, numbered("ana", underWay, waiting)...)
	f.second.connected()
	took := time.Since(died)
	if underWay+waiting > 0 {
		settled(f, f.watch)
	}
	if diff := cmp.Diff(wantTexts("ana", underWay+waiting), f.platform.texts("ana")); diff != "" {
		f.Errorf("replies: %s", diff)
	}
	bustest.Eventually(f, "one connection to the platform", func() bool { return f.platform.connections() == 1 })
	return took
}

// slowLogin is a platform that takes its time to let an account in.
type slowLogin struct {
	plugins.Channel
	takes time.Duration
}

func (s slowLogin) Run(ctx context.Context, in *plugins.Inbox) error {
	bus.Pause(ctx, s.takes)
	return s.Channel.Run(ctx, in)
}

// A member is a host with a line of its own to the server.
type member struct {
	*runner
	line *line
	bus  *bus.Bus
}

func join(t *testing.T, ns *server.Server) *member {
	t.Helper()
	l := &line{server: ns}
	nc, err := nats.Connect("", nats.InProcessServer(l), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &member{line: l, bus: &bus.Bus{NC: nc, JS: js}}
}

func (m *member) start(t *testing.T, name string, ch plugins.Channel) *member {
	t.Helper()
	m.runner = startHost(t, m.bus, name, ch, settings.Account{})
	return m
}

// A line is the way into a server. When it is cut, nothing comes through, and neither end
// hears of it.
type line struct {
	server *server.Server
	cut    atomic.Bool
}

func (l *line) InProcessConn() (net.Conn, error) {
	conn, err := l.server.InProcessConn()
	return &lineConn{Conn: conn, cut: &l.cut}, err
}

type lineConn struct {
	net.Conn
	cut *atomic.Bool
}

func (c *lineConn) Read(p []byte) (int, error) {
	for {
		if n, err := c.Conn.Read(p); err != nil || !c.cut.Load() {
			return n, err
		}
	}
}

func (c *lineConn) Write(p []byte) (int, error) {
	if c.cut.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// startServer runs a server without a port, as bustest.Bubble needs it.
func startServer(t *testing.T) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: bustest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return ns
}
