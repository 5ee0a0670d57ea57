package agents

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/msgids"
	"agenthost/agents/internal/workers"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Parts are what the agents of a host share.
type Parts struct {
	Host       string // the name of this host in the fleet
	NC         *nats.Conn
	JS         jetstream.JetStream
	Publisher  *publishing.Publisher
	Reader     *records.Reader
	Files      *filestore.Store
	Store      *session.Store
	Hooks      *hooks.Registry
	MaxPayload int // of a message, in bytes
	Log        zerolog.Logger

	Peers *Peers // of all agents, in their order

	// Beat decides what a tick of a heartbeat comes to: first tells that nobody
	// in the fleet has looked at it before, run that it begins a run. again tells
	// that it may have come before, busy that the run of an earlier one is not
	// over. nil: every tick begins a run.
	Beat func(ctx context.Context, agent string, due time.Time, again, busy bool) (first, run bool, err error)
	// OnHeartbeat hears of every tick, once in the fleet; it may be nil.
	OnHeartbeat func(ctx context.Context, agent string, due time.Time)
	// Remind is the chat command /remind: it does what text says, for by in
	// chat, and returns what to answer, in the words of book. The same id does
	// nothing twice. nil: there is no such command.
	Remind func(ctx context.Context, book texts.Book, id, by string, chat bus.Origin, text string) string

	// Served asks all hosts of the fleet what they serve; nil: this is the only one.
	Served func(ctx context.Context) (Served, error)
	// Nearest is the word of a list that is most like another, empty when none is;
	// nil: none ever is.
	Nearest func(word string, list []string) string

	lastTries *suspectGate // of suspected runs of all agents, before they are given up

	workers *workers.Pool // for runs, and calls of models and tools
	asks    *ask.Store
	ids     *msgids.Set

	few zerolog.Logger // Log for what may happen to all sessions at once
}

// headroom is what headers may take of a message's limit.
const headroom = 8 << 10

// room is how large a payload may be.
func (p *Parts) room() int { return p.MaxPayload - headroom }

// event tells watchers, on agent.events.<agent>.<kind>, what happened.
func (p *Parts) event(agent, kind string, fields map[string]any) { p.eventOf(nil, agent, kind, fields) }

// eventOf is event for what happened because of a message that came through
// chain.
func (p *Parts) eventOf(chain []string, agent, kind string, fields map[string]any) {
	body := map[string]any{"agent": agent, "host": p.Host, "kind": kind, "at": time.Now().UTC()}
	maps.Copy(body, fields)
	msg, err := bus.NewMessage(bus.EventsPrefix+agent+"."+kind, body)
	if err != nil {
		p.Log.Error().Err(err).Str("kind", kind).Msg("encode event")
		return
	}
	bus.SetChain(msg.Header, chain)
	p.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			p.Log.Debug().Err(err).Str("kind", kind).Msg("publish event")
		}
	})
}

// Reloaded tells watchers what came of reading the configuration again for an
// agent.
func (p *Parts) Reloaded(agent string, fields map[string]any) { p.event(agent, "reload", fields) }

// bury publishes a dead letter and, once it is stored, calls done.
func (p *Parts) bury(agent string, d *delivery.Delivery, code, reason string, attempts int, done func()) {
	header := maps.Clone(d.Header())
	delete(header, "Nats-Pin-Id") // the server's, for who holds the lane
	letter := bus.DeadLetter{
		Agent: agent, Reason: reason, Code: code, Subject: d.Subject, Stream: d.Stream(), Seq: d.Seq,
		Attempts: attempts, Host: p.Host, At: time.Now().UTC(), Header: header,
	}
	letter.SetPayload(d.Data(), p.room())
	p.buryLetter(letter, done)
}

func (p *Parts) buryLetter(letter bus.DeadLetter, done func()) {
	log := p.Log.With().Str("agent", letter.Agent).Str("subject", letter.Subject).Uint64("seq", letter.Seq).Logger()
	msg, err := letter.Message()
	if err != nil {
		log.Error().Err(err).Msg("encode dead letter")
		return
	}
	p.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			log.Error().Err(err).Msg("publish dead letter; the message stays where it is")
			return
		}
		log.Warn().Str("reason", letter.Reason).Msg("dead letter")
		done()
	})
	p.eventOf(chainOf(letter), letter.Agent, "dead", map[string]any{
		"reason": letter.Reason, "code": letter.Code, "subject": letter.Subject, "seq": letter.Seq,
	})
}

// sign signs an input of a log, so that it counts for what it did when it is sent
// again: what came unsigned was stripped of what a program may not claim.
func (p *Parts) sign(in run.Input, header nats.Header) {
	if signer := p.Publisher.Signer(); signer != nil && strings.HasPrefix(in.Subject, bus.RoutePrefix) {
		header.Set(signing.Header, signer.Signature(in.Subject, in.Envelope))
	}
}

// chainOf is the chain of the message that died.
func chainOf(letter bus.DeadLetter) []string {
	route := struct{ Chain []string }{}
	if letter.Stream != bus.RoutesStream || json.Unmarshal(letter.Data(), &route) != nil {
		return nil
	}
	return route.Chain
}
