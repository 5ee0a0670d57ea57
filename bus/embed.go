package bus

import (
	"context"
	"fmt"

	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
)

// embed starts the server in this process and connects to it.
func (b *Bus) embed(ctx context.Context, name string, opts []nats.Option) (err error) {
	b.embedded, err = natsserver.Start(ctx, natsserver.Options{
		Config: b.cfg.Embedded, Name: name, Domain: b.cfg.Domain, Identified: b.cfg.identified(), Log: b.Log,
		Names: natsserver.Names{InboundPrefix: InboundPrefix, OutboundPrefix: OutboundPrefix, InboundStream: InboundStream, OutboundStream: OutboundStream},
	})
	if err != nil {
		return err
	}
	err = b.join(append(opts, nats.InProcessServer(b.embedded),
		nats.ConnectHandler(nil), nats.PingInterval(nats.DefaultPingInterval)))
	if err != nil {
		return err
	}
	return b.embedded.ServeChannels(b.NC)
}

// join connects to the server in this process.
func (b *Bus) join(opts []nats.Option) (err error) {
	if token := b.embedded.Token(); token != "" {
		b.cfg.User, b.cfg.Password = natsserver.User, token
		b.cfg.Creds, b.cfg.NKey, b.cfg.Token = "", "", ""
	}
	cfg := b.cfg
	cfg.TLS = TLS{} // nothing to encrypt inside a process
	b.NC, b.JS, err = dial(cfg, opts)
	if err != nil && b.embedded.Token() == "" && b.embedded.Guarded() {
		// A pipe breaks before the server's answer is through.
		return fmt.Errorf("%w; nats.embedded.config %q may not know these credentials", err, b.cfg.Embedded.Config)
	}
	return err
}

// WatchStore keeps the embedded server able to store, until ctx ends. For an
// external server it does nothing.
func (b *Bus) WatchStore(ctx context.Context) {
	if b.embedded != nil {
		b.embedded.WatchStore(ctx)
	}
}

// StoreFault is why the embedded server stores nothing, or not everything, and
// what helps; nil when it does, or when no WatchStore runs.
func (b *Bus) StoreFault() error {
	if b.embedded == nil {
		return nil
	}
	return b.embedded.StoreFault()
}
