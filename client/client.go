package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/internal/audit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// ServiceName is the name of the NATS micro service that every host is.
const ServiceName = "agenthost"

// requestWithin bounds what a call waits for NATS to answer.
const requestWithin = 5 * time.Second

// Options are for a Client. The zero Options are those of a program.
type Options struct {
	// Name is that of the connection, as NATS shows it; empty: "client".
	Name string
	// Door is the way by which messages and answers come in, as events and hooks
	// show it; empty: bus.DoorAPI.
	Door string
	// By is who uses the client, as the audit log names them; empty: the door.
	By string
	// Unrecorded leaves what the client does out of the audit log: its user writes that.
	Unrecorded bool
	// Log gets what happens to the connection; the zero Logger drops it.
	Log zerolog.Logger
}

// A Client talks to the fleet on one NATS.
type Client struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	door string
	by   string
	log  zerolog.Logger
	note func(context.Context, audit.Entry) // into the audit log

	cfg  bus.Config // of Connect
	own  bool       // the connection was made by Connect
	lost atomic.Bool
}

// Connect connects to the NATS that cfg names, else to the embedded server of a
// host on this machine, with its token. It fails when NATS does not answer
// within five seconds; later the connection is made again as often as it breaks.
// The caller closes the Client.
func Connect(ctx context.Context, cfg bus.Config, opt Options) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	nc, js, err := bus.Dial(ctx, cfg, cmp.Or(opt.Name, "client"), opt.Log)
	if err != nil {
		return nil, hintHost(err)
	}
	c := New(nc, js, opt)
	c.cfg, c.own = cfg, true
	noted := nc.DisconnectErrHandler()
	nc.SetDisconnectErrHandler(func(nc *nats.Conn, err error) {
		if err != nil { // else it was closed
			c.lost.Store(true)
		}
		if noted != nil {
			noted(nc, err)
		}
	})
	return c, nil
}

// New makes a Client of a connection that there is already. Close leaves it open.
func New(nc *nats.Conn, js jetstream.JetStream, opt Options) *Client {
	c := &Client{nc: nc, js: js, door: cmp.Or(opt.Door, bus.DoorAPI), log: opt.Log}
	c.by = cmp.Or(opt.By, c.door)
	if c.note = c.record; opt.Unrecorded {
		c.note = func(context.Context, audit.Entry) {}
	}
	return c
}

// Close closes the connection of a Client that Connect has made.
func (c *Client) Close() {
	if c.own {
		c.nc.Close()
	}
}

// NATS is the connection, for what the Client has no method for.
func (c *Client) NATS() *nats.Conn { return c.nc }

// JetStream is JetStream on that connection.
func (c *Client) JetStream() jetstream.JetStream { return c.js }

// Anonymous reports whether the connection has come to the embedded server of a
// host without its token: it has the rights of a channel only.
func (c *Client) Anonymous(ctx context.Context) bool { return bus.Anonymous(ctx, c.nc) }

// Explain adds to the error of a call what the connection knows of it: that it
// was lost, that NATS refused a permission, or that there is no JetStream. It may
// be called after Close, and returns any other error as it is.
func (c *Client) Explain(err error) error {
	if err == nil {
		return nil
	}
	return hintJetStream(c.hintRefused(c.hintLost(err)))
}

// hintLost adds to an error without an answer that the connection has broken.
func (c *Client) hintLost(err error) error {
	silent := errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if !silent || !c.lost.Load() {
		return err
	}
	return fmt.Errorf("%w; the connection to NATS was lost: once it is back, check whether this was done, and repeat it if not", err)
}

// hintRefused adds to an error what NATS has refused meanwhile: a request that
// is refused gets no answer, and the refusal arrives separately. Without the
// token that is the whole error: that no host answers would mislead.
func (c *Client) hintRefused(err error) error {
	refused := c.nc.LastError()
	if errors.Is(err, nats.ErrPermissionViolation) || !errors.Is(refused, nats.ErrPermissionViolation) {
		return err
	}
	if c.anonymousAgain() {
		return fmt.Errorf("permission denied: %s", bus.LogInHint)
	}
	return fmt.Errorf("%w; %w: this user of NATS needs the permission", err, refused)
}

// anonymousAgain is Anonymous by a connection of its own: the Client may be
// closed by now.
func (c *Client) anonymousAgain() bool {
	if !c.own {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestWithin)
	defer cancel()
	nc, _, err := bus.Dial(ctx, c.cfg, "client", zerolog.Nop())
	if err != nil {
		return false
	}
	defer nc.Close()
	return bus.Anonymous(ctx, nc)
}

// hintJetStream adds to an error of JetStream what helps where there is none.
func hintJetStream(err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("%w; JetStream does not answer there: start that server with -js, or with a jetstream block in its configuration", err)
	}
	return err
}

// hintHost adds to an error of connecting what helps where there is no NATS, or
// another service, or a server that is just dying.
func hintHost(err error) error {
	if _, file := errors.AsType[*fs.PathError](err); file {
		return err // whose number is a net.Error too
	}
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, nats.ErrNoServers) || errors.Is(err, io.EOF) {
		return fmt.Errorf(`%w; start a host with "agenthost run", or name its NATS with -s`, err)
	}
	return err
}

// hintBucket says what a missing bucket means.
func hintBucket(err error) error {
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("%w: no host has run on this NATS yet", err)
	}
	return err
}
