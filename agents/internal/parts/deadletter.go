package parts

import (
	"maps"
	"strings"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/signing"
	"agenthost/llm"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// Bury publishes a dead letter and, once it is stored, calls done.
func (p *Parts) Bury(agent string, d *delivery.Delivery, code, reason string, attempts int, done func()) {
	header := maps.Clone(d.Header())
	delete(header, "Nats-Pin-Id") // the server's, for who holds the lane
	letter := bus.DeadLetter{
		Agent: agent, Reason: reason, Code: code, Subject: d.Subject, Stream: d.Stream(), Seq: d.Seq,
		Attempts: attempts, Host: p.Host, At: time.Now().UTC(), Header: header,
	}
	letter.SetPayload(d.Data(), p.Room())
	p.BuryLetter(letter, done)
}

// BuryLetter publishes a dead letter and, once it is stored, calls done.
func (p *Parts) BuryLetter(letter bus.DeadLetter, done func()) {
	log := p.Log.With().Str("agent", letter.Agent).Str("subject", letter.Subject).Uint64("seq", letter.Seq).Logger()
	msg, err := letter.Message()
	if err != nil {
		log.Error().Err(err).Msg("encode dead letter")
		return
	}
	p.Publisher.Publish(msg, func(_ uint64, again bool, err error) {
		if err != nil {
			log.Error().Err(err).Msg("publish dead letter; the message stays where it is")
			return
		}
		log.Warn().Str("reason", letter.Reason).Msg("dead letter")
		if !again {
			p.countDead(letter.Agent)
		}
		done()
	})
	p.EventOf(chainOf(letter), letter.Agent, "dead", map[string]any{
		"reason": letter.Reason, "code": letter.Code, "subject": letter.Subject, "seq": letter.Seq,
	})
}

// Sign signs an input of a log, so that it counts for what it did when it is sent
// again: what came unsigned was stripped of what a program may not claim.
func (p *Parts) Sign(in run.Input, header nats.Header) {
	if signer := p.Publisher.Signer(); signer != nil && strings.HasPrefix(in.Subject, bus.RoutePrefix) {
		header.Set(signing.Header, signer.Signature(in.Subject, in.Envelope))
	}
}

// chainOf is the chain of the message that died.
func chainOf(letter bus.DeadLetter) []string {
	route := struct{ Chain []string }{}
	if letter.Stream != bus.RoutesStream || bus.ReadFields(letter.Data(), &route) != nil {
		return nil
	}
	return route.Chain
}

// Letter is the dead letter of an input of an agent. Of its headers the log has kept the trace.
func (p *Parts) Letter(agent string, in run.Input, reason string, code llm.Code, attempts int) bus.DeadLetter {
	letter := bus.DeadLetter{
		Agent: agent, Reason: reason, Code: string(code),
		Subject: in.Subject, Stream: message.StreamOf(in.Subject), Seq: in.Seq, Attempts: attempts,
		Host: p.Host, At: time.Now().UTC(), Header: nats.Header{},
	}
	tracing.Context{Parent: in.Trace, State: in.State}.Set(letter.Header)
	p.Sign(in, letter.Header)
	letter.SetPayload(in.Envelope, p.Room())
	return letter
}

// Undeliverable is the dead letter of a reply that the bus refuses for good.
func (p *Parts) Undeliverable(agent string, reply *run.Reply, header nats.Header, err error) bus.DeadLetter {
	letter := bus.DeadLetter{
		ID: bus.UnpublishedID(reply.ID), Agent: agent, Reason: "reply cannot be published: " + err.Error(), Code: "internal",
		Subject: reply.Subject, Stream: bus.OutboundStream, Host: p.Host, At: time.Now().UTC(), Header: header,
	}
	letter.SetPayload(reply.Envelope, p.Room())
	return letter
}
