package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// Served is what the hosts of a fleet serve.
type Served struct {
	Hosts  int // that have answered
	Agents []string
}

// An unserved message is for an agent that no host of the fleet serves.
type unserved struct {
	agent   string
	subject string
	seq     uint64
	header  nats.Header
	data    []byte
}

// unbound is in the place of an agent where none was ever bound to a channel, as far
// as is known.
const unbound = "unbound"

// unservedWithin bounds what is asked before a message is ended.
const unservedWithin = 10 * time.Second

// unservedOf is a message that a lane has brought.
func unservedOf(agent string, d *delivery.Delivery) unserved {
	return unserved{agent, d.Subject, d.Seq, ownHeader(d.Header()), d.Data()}
}

func (m unserved) origin() (origin, error) {
	o := origin{subject: m.subject}
	if _, ok := bus.AgentOf(m.subject); ok {
		route, err := bus.DecodeRoute(m.data)
		o.route = &route
		return o, err
	}
	in, err := bus.DecodeInbound(m.data)
	o.inbound = &in
	return o, err
}

func (m unserved) stream() string { return streamOf(m.subject) }

// name is the same for the same message, also on another host.
func (m unserved) name() string {
	return m.agent + ":" + m.stream() + ":" + strconv.FormatUint(m.seq, 10) + ":unserved"
}

// id is the message's own, as it is for an agent.
func (m unserved) id(o origin) string {
	var own string
	switch {
	case o.route != nil:
		own = o.route.ID
	case o.inbound != nil:
		own = o.inbound.ID
	}
	return cmp.Or(own, m.header.Get(nats.MsgIdHdr), m.stream()+":"+strconv.FormatUint(m.seq, 10))
}

// endUnserved answers a message with an error, where it says to whom, and makes it a
// dead letter; then done is called. It may happen twice: all of it has ids.
func (f *Fleet) endUnserved(ctx context.Context, m unserved, done func()) {
	o, err := m.origin()
	switch {
	case err != nil:
		f.buryUnserved(m, err.Error(), done)
	case o.trigger() == run.ByHeartbeat || o.route != nil && o.route.Kind == bus.RouteResult: // nothing is lost
		done()
	case f.answered(ctx, m, o):
		done()
	default:
		text := f.notConfigured(m.agent)
		f.answerUnserved(m, o, text, func() { f.buryUnserved(m, text, done) })
	}
}

// answered reports whether the agent, before it was removed, has answered the message:
// then only its acknowledgement was lost.
func (f *Fleet) answered(ctx context.Context, m unserved, o origin) bool {
	if m.agent == unbound {
		return false
	}
	id := m.id(o)
	journal, err := f.parts.Store.Open(ctx, m.agent, o.key(id))
	if err != nil {
		return false
	}
	seq, seen := journal.Seen(id)
	return seen && seq > 0
}

// notConfigured says in words that there is no such agent.
func (f *Fleet) notConfigured(agent string) string {
	if agent == unbound {
		return "no agent is bound to this channel"
	}
	text := fmt.Sprintf("agent %q is not configured", agent)
	if f.parts.Nearest == nil {
		return text
	}
	var ids []string
	for _, p := range f.parts.Peers.all() {
		ids = append(ids, p.ID)
	}
	if near := f.parts.Nearest(agent, ids); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// answerUnserved publishes the error; then is called when it is stored, or cannot be.
func (f *Fleet) answerUnserved(m unserved, o origin, text string, then func()) {
	subject, envelope := m.errorReply(o, text)
	if subject == "" {
		then()
		return
	}
	msg, err := bus.NewMessage(subject, envelope)
	if err != nil {
		f.parts.Log.Error().Err(err).Str("subject", m.subject).Msg("encode error reply")
		then()
		return
	}
	if !bus.StoredSubject(subject) {
		if err := f.parts.NC.PublishMsg(msg); err != nil {
			f.parts.Log.Warn().Err(err).Str("subject", subject).Msg("publish error result")
		}
		then()
		return
	}
	msg.Header.Set(nats.MsgIdHdr, m.name())
	f.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			f.parts.Log.Error().Err(err).Str("subject", subject).Msg("publish error reply; the dead letter has the message")
		}
		then()
	})
}

// errorReply is the last word on the message, and its subject; empty where nobody
// waits for one.
func (m unserved) errorReply(o origin, text string) (subject string, envelope any) {
	e := &bus.Error{Code: string(llm.CodeToolUnavailable), Message: text}
	id := m.id(o)
	if r := o.route; r != nil {
		if r.Kind != bus.RouteDelegate {
			return "", nil
		}
		return r.ReplyTo, &bus.Route{
			ID: m.name(), Kind: bus.RouteResult, From: m.agent, CorrelationID: orElse(r.CorrelationID, id),
			Chain: r.Chain, InReplyTo: id, Error: e,
		}
	}
	e.Message = removedError(texts.Book{}, m.agent, o).Message
	return o.outbound(), &bus.Outbound{
		ID: m.name(), Agent: m.agent, Session: string(o.key(id)), Kind: bus.KindError, To: sender(o.inbound),
		Chat: o.inbound.Chat, Thread: o.inbound.Thread, Text: e.Message, InReplyTo: id, Final: true, Error: e, SentAt: time.Now().UTC(),
	}
}

func (f *Fleet) buryUnserved(m unserved, reason string, done func()) {
	letter := bus.DeadLetter{
		Agent: m.agent, Reason: reason, Code: string(llm.CodeToolUnavailable), Subject: m.subject, Stream: m.stream(), Seq: m.seq,
		Host: f.parts.Host, At: time.Now().UTC(), Header: m.header,
	}
	letter.SetPayload(m.data, f.parts.room())
	f.parts.buryLetter(letter, done)
}

// served is what the hosts of the fleet serve, this one included.
func (f *Fleet) served(ctx context.Context) (Served, error) {
	s := Served{Hosts: 1}
	if f.parts.Served != nil {
		var err error
		if s, err = f.parts.Served(ctx); err != nil {
			return s, err
		}
	}
	for _, r := range f.runtimes() {
		s.Agents = append(s.Agents, r.ID())
	}
	return s, nil
}

func (s Served) has(agent string) bool { return slices.Contains(s.Agents, agent) }
