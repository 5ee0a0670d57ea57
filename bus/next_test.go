package bus_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A door is the way into a server, as a proxy is. Shut, it ends each new connection at once.
type door struct {
	server *server.Server
	shut   atomic.Bool
}

func (d *door) InProcessConn() (net.Conn, error) {
	if d.shut.Load() {
		near, far := net.Pipe()
		far.Close()
		return near, nil
	}
	return d.server.InProcessConn()
}

// A reader that was busy while the connection came and went many times hears what comes
// after that, though nats.go has missed that it is back.
func TestNextAfterManyLosses(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		srv.Start()
		defer srv.WaitForShutdown()
		defer srv.Shutdown()
		if !srv.ReadyForConnections(time.Minute) {
			t.Fatal("the server is not ready")
		}
		way := &door{server: srv}
		nc, err := nats.Connect("", nats.InProcessServer(way), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
		cons, err := js.OrderedConsumer(ctx, "S", jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		msgs, err := cons.Messages()
		if err != nil {
			t.Fatal(err)
		}
		defer msgs.Stop()
		say := func(text string) {
			t.Helper()
			if _, err := js.Publish(ctx, "s", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		hear := func(want string) {
			t.Helper()
			msg, err := bus.Next(ctx, msgs)
			if err != nil || string(msg.Data()) != want {
				t.Fatalf("want %s, got %v, %v", want, msg, err)
			}
		}
		say("one")
		hear("one")
		way.shut.Store(true)
		if err := nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		way.shut.Store(false)
		time.Sleep(10 * time.Second)
		say("two")
		hear("two")
	})
}
