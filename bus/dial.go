package bus

import (
	"cmp"
	"context"
	"errors"
	"time"

	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Dial connects a client, such as a command, to the NATS of a host: the one
// that cfg names, else the port of the embedded server, with its token. Unlike Open it fails,
// within ctx, when NATS is away; later it connects again as a Bus does. The
// caller closes the connection.
func Dial(ctx context.Context, cfg Config, name string, log zerolog.Logger) (*nats.Conn, jetstream.JetStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !cfg.External() {
		address := cfg.Embedded.Address()
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

// WithEnv fills what is empty in c from the NATS_* variables that the nats
// command knows. An address in c, by URL or context, keeps those of the
// environment away, and so does an identity: the credentials of one place are
// never sent to another because half of each was set.
func (c Config) WithEnv(getenv func(string) string) Config {
	identified := c.identified()
	if !c.External() {
		c.URL, c.Context = getenv("NATS_URL"), getenv("NATS_CONTEXT")
	}
	if !identified {
		c.User, c.Token = getenv("NATS_USER"), getenv("NATS_TOKEN")
		c.Creds, c.NKey = getenv("NATS_CREDS"), getenv("NATS_NKEY")
	}
	if c.User != "" {
		c.Password = cmp.Or(c.Password, getenv("NATS_PASSWORD"))
	}
	c.TLS.CA = cmp.Or(c.TLS.CA, getenv("NATS_CA"))
	if c.TLS.Cert == "" && c.TLS.Key == "" {
		c.TLS.Cert, c.TLS.Key = getenv("NATS_CERT"), getenv("NATS_KEY")
	}
	return c
}

// WithToken adds the token of the embedded server to c, unless c says who
// connects or the host has made no token.
func (c Config) WithToken() (Config, error) {
	if c.identified() {
		return c, nil
	}
	token, err := c.Embedded.Token()
	if err == nil && token != "" {
		c.User, c.Password = natsserver.User, token
	}
	return c, err
}
