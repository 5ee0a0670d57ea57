package replies

import (
	"errors"
	"sync"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/internal/crash"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// A Sender sends the replies of a session.
type Sender struct {
	inflight.Session
	Sent func() // is called when nothing is on its way any more

	out outbox.Outbox

	mu       sync.Mutex
	caughtUp unsent.CaughtUp // of these commits of an owner before, replies were sent again
}

// Send publishes after everything that was sent before it is stored.
func (s *Sender) Send(b *outbox.Batch) { s.out.Send(b, (*poster)(s)) }

// Sending reports whether anything is on its way.
func (s *Sender) Sending() bool { return s.out.Sending() }

// A poster is the sender as its outbox sees it.
type poster Sender

// Post publishes the next reply of the outbox.
func (p *poster) Post(reply *run.Reply, t tracing.Context) (waits bool) {
	s := (*Sender)(p)
	if bus.StoredSubject(reply.Subject) {
		s.Publish(reply, t, func(stored bool) { s.out.Stored(stored, p) })
		return true
	}
	s.Publish(reply, t, func(bool) {})
	return false
}

// Posted is called when nothing is left in the outbox.
func (p *poster) Posted() { p.Sent() }

// Publish sends a reply beside the others. done is called once it is stored, or when the host
// stops before that; for what is kept in no stream at once.
func (s *Sender) Publish(reply *run.Reply, t tracing.Context, done func(stored bool)) {
	if reply.Subject == "" {
		done(true)
		return
	}
	if !bus.ReplySubject(reply.Subject) { // a log of version 0.1 may have it
		s.Log().Warn().Str("subject", reply.Subject).Str("id", reply.ID).Msg("drop reply: its subject is not one for others to name")
		done(true)
		return
	}
	msg := &nats.Msg{
		Subject: reply.Subject, Data: reply.Envelope,
		Header: bus.Header("Content-Type", "application/json", bus.SessionKeyHeader, string(s.Key), nats.MsgIdHdr, reply.ID),
	}
	t.Set(msg.Header)
	if !bus.StoredSubject(reply.Subject) {
		delete(msg.Header, nats.MsgIdHdr)
		if err := s.Agent.Parts.NC.PublishMsg(msg); err != nil {
			s.Log().Warn().Err(err).Str("subject", reply.Subject).Msg("publish result")
		}
		done(true)
		return
	}
	crash.Point("before-publish")
	s.Agent.Parts.Publisher.Publish(msg, func(_ uint64, again bool, err error) {
		crash.Point("after-publish")
		stored := !errors.Is(err, publishing.ErrClosed) && !errors.Is(err, nats.ErrConnectionClosed)
		if err == nil && !again {
			s.Agent.Parts.CountOutbound(s.Agent.ID, s.Agent.Now(), reply)
		}
		if stored && err != nil {
			s.Agent.Parts.BuryLetter(s.Agent.Parts.Undeliverable(s.Agent.ID, reply, msg.Header, err), func() {})
		}
		done(stored)
	})
}
