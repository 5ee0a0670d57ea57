// Package bus is everything the host does with NATS: it connects, or runs the
// server inside the process; it makes the streams, publishes, receives and
// sets dead letters aside.
//
// Open makes a Bus and starts nothing else than the connection and, when it is
// embedded, the server; Close stops both and waits for them. An external NATS
// may be away when the Bus opens and may go away later: the connection is made
// again for as long as the Bus is open, and Ready waits until it is fit for use.
// WatchStore starts the embedded server again after its disk was full.
package bus

import (
	"context"
	"sync"
	"time"

	"agenthost/internal/natsserver"

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

	cfg      Config
	watch    *connWatch
	embedded *natsserver.Server // nil when the server is external
	once     sync.Once
}

// Options are what Open needs to know.
type Options struct {
	Name   string // of the host: seen in the connection's and the server's name
	Log    zerolog.Logger
	Config Config // zero: embedded, with the store in ./data
}

// closeWithin bounds what Close waits for the connection to drain.
const closeWithin = 10 * time.Second

// Open starts the embedded server, unless the configuration names another, and
// connects to it. It does not wait for an external server: Ready does. The Bus
// lives until Close; ctx bounds only the start.
func Open(ctx context.Context, opt Options) (*Bus, error) {
	b := &Bus{Log: opt.Log, cfg: opt.Config, watch: newConnWatch(opt.Log)}
	if err := b.open(ctx, opt.Name); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Bus) open(ctx context.Context, name string) (err error) {
	opts := connectOptions(name, b.watch)
	if !b.cfg.External() {
		return b.embed(ctx, name, opts)
	}
	b.NC, b.JS, err = dial(b.cfg, append(opts, nats.RetryOnFailedConnect(true)))
	return err
}

// External reports whether NATS is another server than the embedded one.
func (c Config) External() bool { return c.URL != "" || c.Context != "" }

// URL is where others reach the embedded server; it is empty when the server
// has no port, or is not ours.
func (b *Bus) URL() string {
	if b.embedded == nil {
		return ""
	}
	return b.embedded.URL()
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
		if b.embedded != nil {
			b.embedded.Close()
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
