package records_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// What is written right after the server was restarted is heard at once: a pause or a revoked
// token does not wait until the client misses the heartbeats of a consumer that is gone.
func TestFollowAfterARestartOfTheServer(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		serve := func() *server.Server {
			srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			srv.Start()
			if !srv.ReadyForConnections(time.Minute) {
				t.Fatal("the server is not ready")
			}
			return srv
		}
		way := &door{server: serve()}
		nc, err := nats.Connect("", nats.InProcessServer(way), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan string, 100)
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() {
			records.Follow(ctx, js, "B", zerolog.Nop(), func(e jetstream.KeyValueEntry) { heard <- e.Key() }, func() { heard <- "whole" })
		})
		if got := <-heard; got != "whole" {
			t.Fatalf("got %s", got)
		}
		way.shut.Store(true)
		way.server.Shutdown()
		way.server.WaitForShutdown()
		way.server = serve()
		back := nc.StatusChanged(nats.CONNECTED)
		way.shut.Store(false)
		<-back
		begun := time.Now()
		if _, err := kv.PutString(t.Context(), "paused", "yes"); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != "paused"; got = <-heard {
		}
		if took := time.Since(begun); took > 2*time.Second { // on a fake clock
			t.Errorf("it was heard %s later", took)
		}
		stop()
		following.Wait()
		nc.Close()
		way.server.Shutdown()
		way.server.WaitForShutdown()
	})
}
