package bustest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A NATS is a server with JetStream that can be stopped and started again, on
// the same port and with the same store. It is for one goroutine.
type NATS struct {
	t    testing.TB
	opts server.Options
	srv  *server.Server // nil while stopped
}

// Server starts a NATS on a free port of this machine and returns its URL. It
// is stopped when the test ends. Each configure may change the options that it
// starts with.
func Server(t testing.TB, configure ...func(*server.Options)) (string, *NATS) {
	t.Helper()
	n := &NATS{t: t, opts: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: Dir(t), DisableJetStreamBanner: true,
	}}
	for _, c := range configure {
		c(&n.opts)
	}
	n.Start()
	t.Cleanup(n.Stop)
	return n.srv.ClientURL(), n
}

// Reload changes the options of a NATS that runs, as a reload of its configuration does.
func (n *NATS) Reload(configure func(*server.Options)) {
	n.t.Helper()
	configure(&n.opts)
	opts := n.opts
	if err := n.srv.ReloadOptions(&opts); err != nil {
		n.t.Fatal(err)
	}
}

// Start starts a stopped NATS and returns once it takes connections.
func (n *NATS) Start() {
	n.t.Helper()
	opts := n.opts // the server keeps what it is given, and changes it
	srv, err := server.NewServer(&opts)
	if err != nil {
		n.t.Fatal(err)
	}
	srv.Start()
	n.srv = srv
	if !srv.ReadyForConnections(20 * time.Second) {
		n.t.Fatal("NATS is not ready for connections after 20 s")
	}
	n.opts.Port = opts.Port // the one it found, from now on
}

// Stop stops the server and returns when it has; its connections are cut.
// Stopping a stopped NATS does nothing.
func (n *NATS) Stop() {
	if n.srv == nil {
		return
	}
	n.srv.Shutdown()
	n.srv.WaitForShutdown()
	n.srv = nil
}

// Restart stops the server and starts it again.
func (n *NATS) Restart() {
	n.t.Helper()
	n.Stop()
	n.Start()
}
