// Package client talks to a running fleet from outside: it sends messages and
// waits for replies, follows a reply while a model writes it, answers approvals
// and questions, stops runs, and reads and changes sessions, dead letters,
// schedules, notes, models and configuration.
//
// A [Client] is one connection to the NATS of a fleet. It is safe for concurrent
// use, connects again by itself, and needs no host for what NATS keeps: messages
// and answers are stored and wait for the next host, and sessions, dead letters,
// schedules and notes can be read meanwhile. Only what hosts alone know, such as
// [Client.Hosts], [Client.Reload] and [Client.TripModel], needs one that runs.
//
// [Client.Ask] is a message and its reply in one call. A [Conversation] has more:
// pieces of the reply as they come, without gap or repeat, and the approvals and
// questions that come before it.
//
// Every call takes a context first. An error says what failed and what helps;
// [Client.Explain] adds what the connection knows, such as a permission that is
// missing.
package client

import (
	"cmp"
	"context"
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
