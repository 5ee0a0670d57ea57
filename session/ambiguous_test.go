package session_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A wire stands between a client and NATS. While it is muted what NATS says is
// lost.
type wire struct {
	listener net.Listener
	target   string
	tasks    sync.WaitGroup

	mu    sync.Mutex
	muted bool
	conns []net.Conn
}

func newWire(t *testing.T, url string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, target: strings.TrimPrefix(url, "nats://")}
	w.tasks.Go(w.accept)
	t.Cleanup(func() { l.Close(); w.cut(); w.tasks.Wait() })
	return w
}

func (w *wire) url() string { return "nats://" + w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil {
			client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		w.tasks.Go(func() { _, _ = io.Copy(server, client) })
		w.tasks.Go(func() { _, _ = io.Copy(ear{w, client}, server) })
	}
}

// An ear hears nothing while its wire is muted.
type ear struct {
	w *wire
	net.Conn
}

func (e ear) Write(p []byte) (int, error) {
	e.w.mu.Lock()
	muted := e.w.muted
	e.w.mu.Unlock()
	if muted {
		return len(p), nil
	}
	return e.Conn.Write(p)
}

func (w *wire) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = true
}

// cut ends every connection; those that follow are heard again.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns, w.muted = nil, false
}

// NATS stores a commit and goes away before it says so. The host sends it
// again, is refused, and finds out from the log whose commit stands there.
func TestCommitThatMayBeStored(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(t *testing.T, other *talk)
		want      error
	}{
		"its own":        {func(*testing.T, *talk) {}, nil},
		"another host's": {func(t *testing.T, other *talk) { other.turn() }, session.ErrFenced},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := bustest.Server(t)
			w := newWire(t, url)
			near, far := external(t, url), external(t, w.url())
			other := newStore(t, near)
			c := openTalk(t, newStore(t, far))
			c.turn()
			stored := watchLog(t, near)
			<-stored

			w.mute()
			settled := make(chan error, 1)
			c.turns++
			c.step(ask("r2", "hello"))
			for _, e := range c.step(say("hello")) {
				c.Commit(context.Background(), e.Run, e.Events, func(err error) { settled <- err })
			}
			<-stored
			tt.meanwhile(t, openTalk(t, other))
			w.cut()
			if err := <-settled; !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if tt.want != nil {
				return
			}
			c.turn()
			c.same()
			if n := sessions(t, near).CachedInfo().State.Msgs; n != 3 {
				t.Errorf("commits: got %d, want 3", n)
			}
		})
	}
}

// Who stops while a commit may or may not be stored gives the session up.
func TestCommitThatMayBeStoredWhenTheHostStops(t *testing.T) {
	t.Parallel()
	url, srv := bustest.Server(t)
	near := external(t, url)
	c := openTalk(t, newStore(t, near))
	c.turn()
	stale := c.reopen()
	c.turn()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	srv.Stop()
	settled := make(chan error, 1)
	stale.Add(ctx, []run.Event{waiting("m")}, func(err error) { settled <- err })
	srv.Start()
	if err := <-settled; !errors.Is(err, session.ErrFenced) {
		t.Errorf("got %v, want %v", err, session.ErrFenced)
	}
}

func external(t *testing.T, url string) *bus.Bus {
	t.Helper()
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// watchLog tells of every commit once it is stored.
func watchLog(t *testing.T, b *bus.Bus) <-chan struct{} {
	t.Helper()
	cons, err := sessions(t, b).OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{logSubject()}})
	if err != nil {
		t.Fatal(err)
	}
	stored := make(chan struct{}, 100)
	watching, err := cons.Consume(func(jetstream.Msg) { stored <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watching.Stop)
	return stored
}
