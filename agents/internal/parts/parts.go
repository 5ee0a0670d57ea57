// Package parts holds what the agents of a host share, and publishes what concerns no session:
// events for watchers, dead letters, notes to programs.
package parts

import (
	"context"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/finishing"
	"agenthost/agents/internal/gate"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/sharedids"
	"agenthost/agents/internal/workers"
	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/internal/erasure"
	"agenthost/internal/identity"
	"agenthost/internal/pairing"
	"agenthost/internal/pause"
	"agenthost/internal/texts"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Options are what a host gives its agents.
type Options struct {
	Host       string // the name of this host in the fleet
	Weight     int    // its share of the lanes beside those of other hosts; default 1
	NC         *nats.Conn
	JS         jetstream.JetStream
	Publisher  *publishing.Publisher
	Reader     *records.Reader
	Files      *filestore.Store
	Store      *session.Store
	Hooks      *hooks.Registry
	MaxPayload int // of a message, in bytes; 0: what NATS takes at the time
	Log        zerolog.Logger

	Peers *profile.Peers // of all agents, in their order
	// Identities are the people with several accounts; nil: no such people are known.
	Identities *identity.Table

	// Beat decides on a tick of a heartbeat: first reports whether this host is the first
	// of the fleet to see it, run whether it begins a run. again says that the tick may
	// have come before, busy that the run of an earlier one is not over. nil: every tick
	// begins a run.
	Beat func(ctx context.Context, agent string, due time.Time, again, busy bool) (first, run bool, err error)
	// Now is the time by the clock of NATS, which fires what is due; nil: that of this host.
	Now func() time.Time
	// OnHeartbeat is called for every tick, once in the fleet; it may be nil.
	OnHeartbeat func(ctx context.Context, agent string, due time.Time)
	// Remind is the chat command /remind: it does what text says, for by in
	// chat, and returns what to answer, in the words of book. The same id does
	// nothing twice. nil: there is no such command.
	Remind func(ctx context.Context, book texts.Book, id, by string, chat bus.Origin, text string) string

	// Served asks all hosts of the fleet what they serve; nil: this is the only one.
	Served func(ctx context.Context) (lanes.Served, error)
	// Nearest is the word of a list that is most like another, empty when none is;
	// nil: none ever is.
	Nearest func(word string, list []string) string
	Counter Counter // nil: nothing is counted
	// Trace is the traceparent of a message that came to an agent without one; nil: it has none.
	Trace func(agent, subject string, seq uint64, stored time.Time) string
}

// Parts are what the agents of a host share.
type Parts struct {
	Options
	LastTries    *gate.Gate[Suspect] // of suspected runs of all agents, before they are given up
	Workers      *workers.Pool       // for runs, and calls of models and tools
	Asks         *ask.Store
	IDs          *sharedids.Set
	Pairings     *pairing.Index   // the strangers that the operator has let in
	Pauses       *pause.Index     // what the operator has paused
	Erasures     erasure.Index    // whom the host has to forget
	Finishing    *finishing.Index // sessions at work on the host that had their lane before
	RefusedMedia RefusedMedia     // by models
	Few          zerolog.Logger   // Log for what may happen to all sessions at once
}

// A Suspect is a session whose run may have ended its host.
type Suspect interface {
	AgentID() string
}

// New makes what agents share of what their host gives.
func New(opt Options) *Parts {
	return &Parts{
		Options: opt, LastTries: new(gate.Gate[Suspect]), Workers: new(workers.Pool), IDs: sharedids.New(), Few: bus.Few(opt.Log),
		Pauses: pause.NewIndex(opt.JS, opt.Log), Finishing: finishing.NewIndex(),
		Pairings: pairing.NewIndex(pairing.NewStore(opt.JS), opt.Log),
		Asks:     &ask.Store{Publisher: opt.Publisher, JS: opt.JS, Reader: opt.Reader, Log: &opt.Log, Open: ask.NewIndex(), PassedOn: ask.NewPassedOn(opt.Reader)},
	}
}

// Time is the time by which it is decided whether a firing is late.
func (p *Parts) Time() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// headroom is what headers may take of a message's limit.
const headroom = 8 << 10

// Payload is how large a message may be, with its headers. It changes with the server that the
// host is connected to.
func (p *Parts) Payload() int {
	if p.MaxPayload > 0 {
		return p.MaxPayload
	}
	return int(p.NC.MaxPayload())
}

// Room is how large a payload may be.
func (p *Parts) Room() int { return p.Payload() - headroom }
