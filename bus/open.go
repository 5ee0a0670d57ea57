// Package bus is everything the host does with NATS: it connects, makes the
// streams, publishes, receives and sets dead letters aside.
//
// Open makes a Bus and starts nothing else than the connection; Close ends it, and
// the server where that is embedded, and waits for both. An external NATS may be
// away when the Bus opens and may go away later: the connection is made again for
// as long as the Bus is open, and Ready waits until it is fit for use. WatchStore
// starts the embedded server again after its disk was full.
package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Bus is a connection to NATS, and the server itself when that is embedded.
// NC, JS and Log may be used by all callers and are not to be changed.
type Bus struct {
	NC  *nats.Conn
	JS  jetstream.JetStream
	Log zerolog.Logger

	cfg    Config
	watch  *connWatch
	server Server // nil when the server is external
	once   sync.Once
}

// A Server is a NATS server in this process. internal/natsserver has it: what only
// talks to a fleet need not contain one.
type Server interface {
	nats.InProcessConnProvider

	// URL is where others reach the server; it is empty when it has no port.
	URL() string
	// WatchStore keeps the server able to store, until ctx ends.
	WatchStore(ctx context.Context)
	// StoreFault is why the server stores nothing, or not everything, and what
	// helps; nil when it does, or when no WatchStore runs.
	StoreFault() error
	// Close stops the server, waits for it, and gives up its store.
	Close()
}

// Options are what Open needs to know.
type Options struct {
	Name   string // of the host: seen in the connection's and the server's name
	Log    zerolog.Logger
	Config Config
	Server Server // nil: the one that Config names
}

// inProcessWithin bounds what the server of this process takes to answer: no line is cut there, but a
// busy machine may take seconds, and a host that gave up would end.
const inProcessWithin = 10 * time.Second

// closeWithin bounds what Close waits for the connection to drain.
const closeWithin = 10 * time.Second

// Open connects to the server of this process, which Close stops, or to the one that
// the configuration names. It does not wait for that: Ready does. The Bus lives until
// Close. When Open fails it has stopped the server.
func Open(opt Options) (*Bus, error) {
	b := &Bus{Log: opt.Log, cfg: opt.Config, watch: newConnWatch(opt.Log), server: opt.Server}
	if err := b.open(opt.Name); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Bus) open(name string) (err error) {
	opts := connectOptions(name, b.watch)
	cfg := b.cfg
	switch {
	case b.server != nil:
		cfg.TLS = TLS{} // nothing to encrypt inside a process
		opts = append(opts, nats.InProcessServer(b.server), nats.Timeout(inProcessWithin), nats.ConnectHandler(nil), nats.PingInterval(nats.DefaultPingInterval))
	case cfg.External():
		opts = append(opts, nats.RetryOnFailedConnect(true))
	default:
		return errors.New("open a bus: no server runs in this process, and the configuration names none")
	}
	b.NC, b.JS, err = dial(cfg, opts)
	return err
}

// External reports whether NATS is another server than the embedded one.
func (c Config) External() bool { return c.URL != "" || c.Context != "" }

// URL is where others reach the embedded server; it is empty when the server
// has no port, or is not ours.
func (b *Bus) URL() string {
	if b.server == nil {
		return ""
	}
	return b.server.URL()
}

// WatchStore keeps the embedded server able to store, until ctx ends. For an
// external server it does nothing.
func (b *Bus) WatchStore(ctx context.Context) {
	if b.server != nil {
		b.server.WatchStore(ctx)
	}
}

// StoreFault is why the embedded server stores nothing, or not everything, and
// what helps; nil when it does, or when no WatchStore runs.
func (b *Bus) StoreFault() error {
	if b.server == nil {
		return nil
	}
	return b.server.StoreFault()
}

// Closed is closed with the connection: by Close, or when NATS has ended it in a way
// after which the client does not connect again.
func (b *Bus) Closed() <-chan struct{} { return b.watch.closed }

// Close hands out what was received, sends what was published, closes the
// connection, stops the embedded server and gives up its store. It waits for
// all of it, about ten seconds at most for a connection that is stuck. Closing
// again does nothing.
func (b *Bus) Close() {
	b.once.Do(func() {
		b.disconnect()
		if b.server != nil {
			b.server.Close()
		}
	})
}

func (b *Bus) disconnect() {
	if b.NC == nil {
		return
	}
	if b.NC.Drain() != nil { // it is away or closed: nothing to drain
		b.NC.Close()
	}
	stuck := time.NewTimer(closeWithin)
	defer stuck.Stop()
	select {
	case <-b.watch.closed:
	case <-stuck.C:
		b.NC.Close()
	}
}
