package records_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/google/go-cmp/cmp"
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
func TestFollowStreamAfterManyLosses(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: bustest.Dir(t)})
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
		heard := make(chan string, 10)
		following, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() {
			ended <- records.FollowStream(following, js, records.Following{Stream: "S", Take: func(msg jetstream.Msg, _ *jetstream.MsgMetadata) error {
				heard <- string(msg.Data())
				return nil
			}})
		}()
		say := func(text string) {
			t.Helper()
			if _, err := js.Publish(ctx, "s", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		hear := func(want string) {
			t.Helper()
			select {
			case got := <-heard:
				if got != want {
					t.Fatalf("want %s, got %s", want, got)
				}
			case <-ctx.Done():
				t.Fatalf("want %s, got nothing", want)
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
		stop()
		if err := <-ended; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

// What is followed comes from where it was asked for, once and in order, and an error of who
// takes it ends the following.
func TestFollowStreamFrom(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
		bustest.Publish(t, b.JS, "s.a", "1", "2")
		time.Sleep(time.Minute)
		since := time.Now()
		time.Sleep(time.Minute)
		bustest.Publish(t, b.JS, "s.a", "3")
		bustest.Publish(t, b.JS, "s.b", "4")
		enough := errors.New("enough")
		for name, test := range map[string]struct {
			following records.Following
			want      []string
		}{
			"all":     {records.Following{}, []string{"1", "2", "3", "4", "last"}},
			"after":   {records.Following{After: 1}, []string{"2", "3", "4", "last"}},
			"since":   {records.Following{Since: since}, []string{"3", "4", "last"}},
			"new":     {records.Following{New: true}, []string{"last"}},
			"subject": {records.Following{Subjects: []string{"s.b", "s.c"}}, []string{"4", "last"}},
		} {
			var got []string
			f := test.following
			f.Stream = "S"
			f.Began = func(after, pending uint64) {
				if int(pending) != len(test.want)-1 {
					t.Errorf("%s: begins after %d with %d", name, after, pending)
				}
				bustest.Publish(t, b.JS, "s.c", "last")
			}
			f.Take = func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
				got = append(got, string(msg.Data()))
				if got[len(got)-1] == "last" {
					return enough
				}
				return nil
			}
			if err := records.FollowStream(t.Context(), b.JS, f); !errors.Is(err, enough) {
				t.Errorf("%s: got %v, want the error of who takes", name, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			s, err := b.JS.Stream(t.Context(), "S")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Purge(t.Context(), jetstream.WithPurgeSubject("s.c")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A stream that is not there is told at once, or waited for.
func TestFollowStreamWhatIsNotThere(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		f := records.Following{Stream: "S", Take: func(jetstream.Msg, *jetstream.MsgMetadata) error { return errors.New("taken") }}
		bustest.WantError(t, records.FollowStream(t.Context(), b.JS, f), "look up stream", "not found")
		f.Patient = true
		ended := make(chan error)
		go func() { ended <- records.FollowStream(t.Context(), b.JS, f) }()
		time.Sleep(time.Minute)
		bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
		bustest.Publish(t, b.JS, "s.a", "1")
		bustest.WantError(t, <-ended, "taken")
	})
}
