//go:build long

package bus_test

import (
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
}
