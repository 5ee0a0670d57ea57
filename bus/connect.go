package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/synadia-io/orbit.go/natscontext"
)

// connectOptions keep a connection for as long as the process lives. Nothing
// is buffered while NATS is away: the Publisher sends again what the server
// has not acknowledged, and a buffer would make those two copies.
func connectOptions(name string, watch *connWatch) []nats.Option {
	return append(watch.options(),
		nats.Name(strings.TrimSpace("agenthost "+name)),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(), // credentials are renewed under a running host
		nats.DrainTimeout(closeWithin/2),
		nats.PingInterval(5*time.Second), // a dead peer is noticed in some ten seconds
		nats.MaxPingsOutstanding(2),
	)
}

// dial connects to what cfg names. The options given go before those of cfg.
func dial(cfg Config, opts []nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	if err := checkAddresses(cfg.URL); err != nil {
		return nil, nil, err
	}
	credentials, err := cfg.credentials()
	if err != nil {
		return nil, nil, err
	}
	secure, err := cfg.TLS.options()
	if err != nil {
		return nil, nil, err
	}
	opts = slices.Concat([]nats.Option{cfg.servers}, opts, credentials, secure, cfg.inboxes())
	if cfg.Context != "" {
		return dialContext(cfg, opts)
	}
	nc, err := nats.Connect("", opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to NATS at %s: %w", cmp.Or(redact(cfg.URL), "the embedded server"), err)
	}
	return withJetStream(nc, cfg.Domain, "")
}

// inboxes is the option of a prefix for replies, where the configuration has one.
func (c Config) inboxes() []nats.Option {
	if c.InboxPrefix == "" {
		return nil
	}
	return []nats.Option{nats.CustomInboxPrefix(c.InboxPrefix)}
}

// dialContext connects by a context of the nats command; what cfg says itself
// goes before what the context says.
func dialContext(cfg Config, opts []nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	nc, settings, err := natscontext.Connect(cfg.Context, opts...)
	if err != nil && strings.HasPrefix(err.Error(), "unknown context") { // a text of the library, which has no error of its own for it
		err = fmt.Errorf(`%w; "nats context ls" lists them, "agenthost nats-context" makes one`, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("connect by the NATS context %q: %w", cfg.Context, err)
	}
	if settings.User == "" && !cfg.Identified() {
		if err := checkCreds(homePath(settings.Creds)); err != nil {
			nc.Close()
			return nil, nil, fmt.Errorf("NATS context %q: %w", cfg.Context, err)
		}
	}
	if cfg.Domain != "" {
		return withJetStream(nc, cfg.Domain, "")
	}
	return withJetStream(nc, settings.JSDomain, settings.JSAPIPrefix)
}

// homePath is path as natscontext expands it.
func homePath(path string) string {
	if me, err := user.Current(); err == nil && strings.HasPrefix(path, "~") {
		return me.HomeDir + path[1:]
	}
	return path
}

func withJetStream(nc *nats.Conn, domain, prefix string) (*nats.Conn, jetstream.JetStream, error) {
	js, err := jetstream.New(nc)
	switch {
	case domain != "":
		js, err = jetstream.NewWithDomain(nc, domain)
	case prefix != "":
		js, err = jetstream.NewWithAPIPrefix(nc, prefix)
	}
	if strings.ContainsAny(domain+prefix, " \t\r\n*>") {
		err = errors.New("a blank, * and > cannot be part of it")
	}
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("use JetStream domain or prefix %q: %w", domain+prefix, err)
	}
	return nc, js, nil
}

// refusals are what a server says to credentials that it does not accept.
var refusals = []error{
	nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
}

func refused(err error) bool {
	for _, r := range refusals {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// Dial connects a client, such as a command, to the NATS of a host: the one
// that cfg names, else the port of the embedded server, with its token. Unlike Open it fails,
// within ctx, when NATS is away; later it connects again as a Bus does. The
// caller closes the connection.
func Dial(ctx context.Context, cfg Config, name string, log zerolog.Logger) (*nats.Conn, jetstream.JetStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !cfg.External() {
		address := cfg.Embedded.Reached()
		if address == "" {
			return nil, nil, errors.New(`the host's NATS has no port: nats.embedded.listen is ""; set it, or name another server`)
		}
		cfg.URL = "nats://" + address
		if cfg.Embedded.ServesAt(cfg.URL) {
			withToken, err := cfg.WithToken()
			if err != nil {
				return nil, nil, err
			}
			cfg = withToken
		}
	}
	opts := connectOptions(name, newConnWatch(log))
	return dial(cfg, append(opts, within(ctx)))
}

// within makes an attempt at all the servers end with ctx: nats.go knows only
// a timeout for each, which it applies to dialing and again to the greeting.
func within(ctx context.Context) nats.Option {
	return func(o *nats.Options) error {
		end, ok := ctx.Deadline()
		if !ok {
			return nil
		}
		each := time.Until(end) / time.Duration(2*max(len(o.Servers), 1))
		o.Timeout = max(min(o.Timeout, each), time.Millisecond)
		return nil
	}
}
