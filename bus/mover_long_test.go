//go:build long

package bus_test

import (
	"context"
	"errors"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A host that starts does not wait for a server that is there, but cut off from JetStream, while
// another serves.
func TestReadyAsksAnotherServer(t *testing.T) {
	t.Parallel()
	sick, _ := bustest.Server(t, func(o *server.Options) { o.JetStream = false })
	well, srv := bustest.Server(t)
	srv.Stop()
	mute, err := nats.Connect(sick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mute.Close)
	if _, err := mute.SubscribeSync("$JS.API.>"); err != nil { // nothing answers there
		t.Fatal(err)
	}
	if err := mute.Flush(); err != nil {
		t.Fatal(err)
	}
	startAtSick(t, sick, well, srv)
}

// startAtSick opens a Bus while only the server sick is up, starts well, and wants it ready there.
func startAtSick(t *testing.T, sick, well string, srv *bustest.NATS) *bus.Bus {
	t.Helper()
	b, err := bus.Open(bus.Options{Name: "one", Log: bustest.Log(t), Config: bus.Config{URL: sick + "," + well}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	bustest.Eventually(t, "it is connected", func() bool { return b.NC.ConnectedUrl() == sick })
	srv.Start()
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.NC.ConnectedUrl(); got != well {
		t.Errorf("it is ready at %s, want %s", got, well)
	}
	return b
}

// A server that runs without JetStream refuses no host that knows another of its cluster, neither one
// that starts nor one that runs and gets there.
func TestServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	sick, _ := bustest.Server(t, func(o *server.Options) { o.JetStream = false })
	well, srv := bustest.Server(t)
	srv.Stop()
	b := startAtSick(t, sick, well, srv)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.KeepAnswered(ctx) }()
	srv.Stop()
	bustest.Eventually(t, "it is connected to the other", func() bool { return b.NC.ConnectedUrl() == sick })
	bustest.WantError(t, b.Healthy(t.Context()), "JetStream is not enabled at "+sick, "start that server with -js")
	srv.Start()
	bustest.Eventually(t, "it is back", func() bool { return b.NC.ConnectedUrl() == well && b.Healthy(t.Context()) == nil })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that of the context", err)
	}
}

// Where all servers that are known say that they have no JetStream, waiting does not mend it.
func TestAllServersWithoutJetStream(t *testing.T) {
	t.Parallel()
	without := func(o *server.Options) { o.JetStream = false }
	one, _ := bustest.Server(t, without)
	two, _ := bustest.Server(t, without)
	b, err := bus.Open(bus.Options{Name: "one", Log: bustest.Log(t), Config: bus.Config{URL: one + "," + two}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Ready(t.Context()); !errors.Is(err, bus.ErrNoJetStream) {
		t.Errorf("got %v, want %v", err, bus.ErrNoJetStream)
	}
}
