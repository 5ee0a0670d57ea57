package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"agenthost/internal/audit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of a request to a host that say by which door it comes, and for whom, as
// the audit log has it.
const (
	DoorHeader = "Agent-Door"
	ByHeader   = "Agent-By"
)

// An AuditEntry is one thing that an operator has done.
type AuditEntry = audit.Entry

// Audit reads what operators have done since a time, the oldest first.
func (c *Client) Audit(ctx context.Context, since time.Time) iter.Seq2[AuditEntry, error] {
	return audit.NewLog(c.js).Since(ctx, since)
}

// FollowAudit yields what operators do from now on, until ctx ends. ready is called
// when nothing can be missed any more.
func (c *Client) FollowAudit(ctx context.Context, ready func()) iter.Seq2[AuditEntry, error] {
	return audit.NewLog(c.js).Follow(ctx, ready)
}

// header says who asks.
func (c *Client) header() nats.Header {
	return nats.Header{DoorHeader: {c.door}, ByHeader: {c.by}}
}

// request is a request to a host that says who asks.
func (c *Client) request(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: data, Header: c.header()}
}

// record writes into the audit log what the client has done. It is done by then, so
// that it cannot be written is no error of the call.
func (c *Client) record(ctx context.Context, e audit.Entry) {
	e.By, e.Door = cmp.Or(e.By, c.by), c.door
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWithin)
	defer cancel()
	err := audit.NewLog(c.js).Write(ctx, e)
	if err != nil && !errors.Is(err, jetstream.ErrNoStreamResponse) { // else no host of this version has run
		c.log.Error().Err(err).Str("action", e.Action).Msg("write audit log: failed")
	}
}
