package main

import (
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"
)

// emptyNATS starts a NATS with nothing in it: its URL is $EMPTY, its port $EMPTYPORT.
func emptyNATS(ts *testscript.TestScript, _ bool, _ []string) {
	store, err := os.MkdirTemp(ts.MkAbs("."), "nats-")
	ts.Check(err)
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: store})
	ts.Check(err)
	srv.Start()
	ts.Defer(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(20 * time.Second) {
		ts.Fatalf("NATS is not ready for connections")
	}
	_, port, err := net.SplitHostPort(srv.Addr().String())
	ts.Check(err)
	ts.Setenv("EMPTY", srv.ClientURL())
	ts.Setenv("EMPTYPORT", port)
}
