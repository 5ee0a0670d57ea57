package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/clip"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// An UnservedEnder ends messages for agents that no host of the fleet serves.
type UnservedEnder struct{ Parts *parts.Parts }

// unserved is such a message.
type unserved lanes.Message

func (m unserved) origin() (message.Origin, error) {
	o := message.Origin{Subject: m.Subject}
	if _, ok := bus.AgentOf(m.Subject); ok {
		route, err := bus.DecodeRoute(m.Data)
		o.Route = &route
		return o, err
	}
	in, err := bus.DecodeInbound(m.Data)
	o.Inbound = &in
	return o, err
}

func (m unserved) stream() string { return message.StreamOf(m.Subject) }

// name is the same for the same message, also on another host.
func (m unserved) name() string {
	return m.Agent + ":" + m.stream() + ":" + strconv.FormatUint(m.Seq, 10) + ":unserved"
}

// id is the message's own, as it is for an agent.
func (m unserved) id(o message.Origin) string {
	var own string
	switch {
	case o.Route != nil:
		own = o.Route.ID
	case o.Inbound != nil:
		own = o.Inbound.ID
	}
	return cmp.Or(own, m.Header.Get(nats.MsgIdHdr), m.stream()+":"+strconv.FormatUint(m.Seq, 10))
}

// End answers a message with an error, where it says to whom, and makes it a
// dead letter; then done is called. It may happen twice: all of it has ids.
func (e UnservedEnder) End(ctx context.Context, msg lanes.Message, done func()) {
	m := unserved(msg)
	o, err := m.origin()
	switch {
	case err != nil:
		e.bury(m, err.Error(), done)
	case o.Trigger() == run.ByHeartbeat: // nothing is lost
		done()
	case o.Route != nil && o.Route.Kind == bus.RouteResult:
		e.keep(ctx, m, o.Route, done)
	case e.answered(ctx, m, o):
		done()
	default:
		text := e.notConfigured(m.Agent)
		if m.Named != "" {
			text = e.notBound(m.Named)
		}
		e.answer(m, o, text, func() { e.bury(m, text, done) })
	}
}

// What a call of a removed agent waits for comes again this long after it was asked for,
// divided by eight, within bounds: so the agent has it soon after it is back.
const (
	keptAtLeast = time.Second
	keptAtMost  = 10 * time.Minute
	keptFor     = 7 * 24 * time.Hour
)

// keep has an answer, a result or a deadline come again while a run of the agent waits for
// it. What was not sent by a host or an operator, or is for nothing, needs no end; nor does what
// came after the deadline, which is kept itself.
func (e UnservedEnder) keep(ctx context.Context, m unserved, route *bus.Route, done func()) {
	if !bus.HostSubject(m.Subject) && !e.Parts.Publisher.Signer().Verify(m.Subject, m.Header, m.Data) {
		done()
		return
	}
	w, err := ask.Read(ctx, e.Parts.JS, route.CorrelationID)
	if errors.Is(err, ask.ErrNotWaiting) {
		done()
		return
	}
	if err == nil && m.tooLate(route, w) {
		e.Parts.Tell(route, ask.ErrTooLate)
		done()
		return
	}
	answered, data := false, m.Data
	if err == nil && route.From == ask.FromDeadline {
		answered, err = e.Parts.Asks.HasPostponed(ctx, w)
	}
	if answered { // before the deadline, as later ones are not kept
		done()
		return
	}
	if err == nil {
		data, err = m.dated(route)
	}
	age := time.Since(w.AskedAt)
	if err == nil && age < keptFor {
		err = e.Parts.Asks.Postpone(ctx, w, m.Header, data, time.Now().Add(min(max(age/8, keptAtLeast), keptAtMost)))
		if err == nil {
			done()
			return
		}
	}
	if err != nil {
		e.Parts.Log.Warn().Err(err).Str("agent", m.Agent).Msg("keep an answer for an agent that is not configured: failed")
	}
	e.bury(m, e.notConfigured(m.Agent), done)
}

// tooLate reports whether it is an answer that came after the deadline of w.
func (m unserved) tooLate(route *bus.Route, w ask.Waiting) bool {
	if route.From == ask.FromDeadline || w.Kind == run.ForDelegate || bus.HostSubject(m.Subject) {
		return false
	}
	if !route.AnsweredAt.IsZero() {
		return !w.InTime(route.AnsweredAt)
	}
	return !w.InTime(m.Stored)
}

// dated is the payload of a result with the time when it came, which is to be kept.
func (m unserved) dated(route *bus.Route) ([]byte, error) {
	if route.From == ask.FromDeadline || !route.AnsweredAt.IsZero() || bus.HostSubject(m.Subject) {
		return m.Data, nil
	}
	kept := *route
	kept.AnsweredAt = m.Stored.UTC()
	return json.Marshal(kept)
}

// answered reports whether the agent, before it was removed, has answered the message:
// then only its acknowledgement was lost.
func (e UnservedEnder) answered(ctx context.Context, m unserved, o message.Origin) bool {
	if m.Agent == lanes.Unbound {
		return false
	}
	id := m.id(o)
	own := o.Key(id)
	joined := e.Parts.Identities.Session(own)
	journal, err := e.Parts.Store.Open(ctx, m.Agent, joined)
	if err != nil {
		return false
	}
	seq, seen := journal.Seen(session.LoggedID(id, own, joined))
	return seen && seq > 0
}

// notConfigured says in words that there is no such agent.
func (e UnservedEnder) notConfigured(agent string) string {
	if agent == lanes.Unbound {
		return "no agent is bound to this channel"
	}
	return fmt.Sprintf("agent %q is not configured", agent) + e.nearest(agent)
}

// notBound says in words that an agent which a message names is not bound to its channel.
func (e UnservedEnder) notBound(agent string) string {
	agent = clip.Head(agent, 100)
	return fmt.Sprintf("agent %q is not bound to this channel", agent) + e.nearest(agent)
}

// nearest asks whether another agent is meant, if one has such a name.
func (e UnservedEnder) nearest(agent string) string {
	if e.Parts.Nearest == nil {
		return ""
	}
	var ids []string
	for _, p := range e.Parts.Peers.All() {
		ids = append(ids, p.ID)
	}
	near := e.Parts.Nearest(agent, ids)
	if near == "" || near == agent {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// answer publishes the error; then is called when it is stored, or cannot be.
func (e UnservedEnder) answer(m unserved, o message.Origin, text string, then func()) {
	subject, envelope := m.errorReply(o, text)
	if subject == "" {
		then()
		return
	}
	msg, err := bus.NewMessage(subject, envelope)
	if err != nil {
		e.Parts.Log.Error().Err(err).Str("subject", m.Subject).Msg("encode error reply")
		then()
		return
	}
	tracing.In(m.Header).Set(msg.Header)
	if o.Inbound != nil {
		msg.Header.Set(bus.SessionKeyHeader, string(o.Key(m.id(o))))
	}
	if !bus.StoredSubject(subject) {
		if err := e.Parts.NC.PublishMsg(msg); err != nil {
			e.Parts.Log.Warn().Err(err).Str("subject", subject).Msg("publish error result")
		}
		then()
		return
	}
	msg.Header.Set(nats.MsgIdHdr, m.name())
	e.Parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			e.Parts.Log.Error().Err(err).Str("subject", subject).Msg("publish error reply; the dead letter has the message")
		}
		then()
	})
}

// errorReply is the last word on the message, and its subject; empty where no
// asker waits for one.
func (m unserved) errorReply(o message.Origin, text string) (subject string, envelope any) {
	why := &bus.Error{Code: string(llm.CodeToolUnavailable), Message: text}
	id := m.id(o)
	if r := o.Route; r != nil {
		if r.Kind != bus.RouteDelegate {
			return "", nil
		}
		return r.ReplyTo, &bus.Route{
			ID: m.name(), Kind: bus.RouteResult, From: m.Agent, CorrelationID: cmp.Or(r.CorrelationID, id),
			Chain: r.Chain, InReplyTo: id, Error: why,
		}
	}
	said := RemovedError(texts.Book{}, m.Agent, o).Message
	if m.Named == "" {
		why.Message = said
	}
	return o.Outbound(), &bus.Outbound{
		ID: m.name(), Agent: m.Agent, Session: string(o.Key(id)), Kind: bus.KindError, To: message.Sender(o.Inbound),
		Chat: o.Inbound.Chat, Thread: o.Inbound.Thread, Text: said, InReplyTo: id, Final: true, Error: why, SentAt: time.Now().UTC(),
	}
}

// Bury makes a message a dead letter.
func (e UnservedEnder) Bury(m lanes.Message, done func()) {
	e.bury(unserved(m), e.notConfigured(m.Agent), done)
}

func (e UnservedEnder) bury(m unserved, reason string, done func()) {
	letter := bus.DeadLetter{
		Agent: m.Agent, Reason: reason, Code: string(llm.CodeToolUnavailable), Subject: m.Subject, Stream: m.stream(), Seq: m.Seq,
		Host: e.Parts.Host, At: time.Now().UTC(), Header: m.Header,
	}
	letter.SetPayload(m.Data, e.Parts.Room())
	e.Parts.BuryLetter(letter, done)
}

// Served asks the hosts of the fleet what they serve.
func (e UnservedEnder) Served(ctx context.Context) (lanes.Served, error) {
	if e.Parts.Served == nil {
		return lanes.Served{Hosts: 1}, nil
	}
	return e.Parts.Served(ctx)
}
