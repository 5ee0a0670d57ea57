package bustest

import (
	"slices"
	"unsafe" // for what has no name outside the server

	"github.com/nats-io/nats-server/v2/server"
)

// Start starts the stopped server 0, 1 or 2 of a cluster again, and returns once it
// takes connections. It may lack what was stored meanwhile for some time.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	opts := c.options[i] // the server keeps what it is given, and changes it
	srv, err := server.NewServer(&opts)
	if err != nil {
		c.t.Fatal(err)
	}
	var said faults
	srv.SetLogger(&said, false, false)
	srv.Start()
	c.servers[i] = srv
	if !srv.ReadyForConnections(clusterWithin) {
		c.t.Fatalf("NATS is not ready for connections after %s: %s", clusterWithin, &said)
	}
	c.options[i].Port = opts.Port // the one it found, from now on
}

// Stop stops a server and returns when it has ended. Stopping a stopped one does nothing.
func (c *Cluster) Stop(i int) {
	if c.servers[i] == nil {
		return
	}
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
	c.servers[i] = nil
}

// Name is that of a server, as streams name those that have their copies.
func (c *Cluster) Name(i int) string { return c.options[i].ServerName }

// Store is the folder of a server's store.
func (c *Cluster) Store(i int) string { return c.options[i].StoreDir }

// Settle waits until all servers are there and have their copies of all streams.
func (c *Cluster) Settle() {
	c.t.Helper()
	if slices.Contains(c.servers, nil) {
		c.t.Fatal("a server of the cluster is stopped")
	}
	c.settle()
}

// Lose takes a message out of the copy of one server only, as a damaged store does.
func (c *Cluster) Lose(i int, stream string, seq uint64) {
	c.t.Helper()
	copied, err := lookupStream(c.servers[i].GlobalAccount(), stream)
	if err != nil {
		c.t.Fatal(err)
	}
	if ok, err := storeOf(copied).RemoveMsg(seq); !ok || err != nil {
		c.t.Fatalf("lose message %d of %s: %t, %v", seq, stream, ok, err)
	}
}

//go:linkname storeOf github.com/nats-io/nats-server/v2/server.(*stream).Store
func storeOf(copied unsafe.Pointer) server.StreamStore
