package engine

import (
	"errors"

	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/internal/crash"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// send publishes after everything that was sent before it is stored.
func (c *conversation) send(b *outbox.Batch) { c.out.Send(b, c) }

// Post publishes the next reply of the outbox.
func (c *conversation) Post(reply *run.Reply, t tracing.Context) (waits bool) {
	if bus.StoredSubject(reply.Subject) {
		c.publish(reply, t, nil)
		return true
	}
	c.publish(reply, t, func(bool) {})
	return false
}

// Posted lets go of the conversation when the outbox was the last to do anything.
func (c *conversation) Posted() { c.rest() }

// publish sends a reply. done, or else Stored of the outbox, is called once it is stored, or when
// the host stops before that; for what is kept in no stream at once.
func (c *conversation) publish(reply *run.Reply, t tracing.Context, done func(stored bool)) {
	if reply.Subject == "" {
		done(true)
		return
	}
	if !bus.ReplySubject(reply.Subject) { // a log of version 0.1 may have it
		c.Log().Warn().Str("subject", reply.Subject).Str("id", reply.ID).Msg("drop reply: its subject is not one for others to name")
		done(true)
		return
	}
	msg := &nats.Msg{
		Subject: reply.Subject, Data: reply.Envelope,
		Header: bus.Header("Content-Type", "application/json", bus.SessionKeyHeader, string(c.Key), nats.MsgIdHdr, reply.ID),
	}
	t.Set(msg.Header)
	if !bus.StoredSubject(reply.Subject) {
		delete(msg.Header, nats.MsgIdHdr)
		if err := c.r.parts.NC.PublishMsg(msg); err != nil {
			c.Log().Warn().Err(err).Str("subject", reply.Subject).Msg("publish result")
		}
		done(true)
		return
	}
	crash.Point("before-publish")
	c.r.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		crash.Point("after-publish")
		stored := !errors.Is(err, publishing.ErrClosed) && !errors.Is(err, nats.ErrConnectionClosed)
		if stored && err != nil {
			c.r.parts.BuryLetter(c.r.parts.Undeliverable(c.r.id, reply, msg.Header, err), func() {})
		}
		if done == nil {
			c.out.Stored(stored, c)
		} else {
			done(stored)
		}
	})
}
