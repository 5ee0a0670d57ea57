package agents

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/llm"
	"agenthost/run"
)

// A Behavior is what an agent does, written in Go. Embed [Base] and write the
// methods that differ: with none of them the agent does what one without a
// behaviour does.
//
// What the methods return is committed to the session's log and published as
// the answer of a model would be: it is in order, has an id, is told once, and
// a host that dies leaves it to the next. A message whose host died is handled
// again, so a method may be called more than once for the same one, with the
// same ids; what is in the log is not asked for again.
//
// The methods are called by many goroutines, for each session by one at a
// time. An error or a panic ends the run with the code internal and a sentence
// for the person; a panic of a goroutine that a method has started ends the
// host, as everywhere in Go. When ctx ends, its methods are no longer waited for.
type Behavior interface {
	// OnMessage hears of a message, or of several that one run answers, before
	// its run begins.
	OnMessage(ctx context.Context, m Message) (Action, error)
	// Decide stands in the place of a call of the model. It is called again when
	// the tools that it asks for have answered.
	Decide(ctx context.Context, t Turn) (Answer, error)
	// OnEvent hears of what is published on one of Topics.
	OnEvent(ctx context.Context, e Event) error
	// OnHeartbeat is called at each tick of the agent's heartbeat, once in the
	// whole fleet.
	OnHeartbeat(ctx context.Context, t Tick) error
	// Topics are the NATS subjects, with wildcards or without, that OnEvent hears
	// of. It is called once.
	Topics() []string
}

// Base is the behaviour of an agent that has none: messages go on to Decide,
// which has the agent's models answer, and the rest is not for it.
type Base struct{}

// OnMessage lets m go on.
func (Base) OnMessage(context.Context, Message) (Action, error) { return Action{}, nil }

// Decide has the models of the agent answer, and streams what they say.
func (Base) Decide(ctx context.Context, t Turn) (Answer, error) { return t.ask(ctx, true) }

// OnEvent does nothing.
func (Base) OnEvent(context.Context, Event) error { return nil }

// OnHeartbeat does nothing.
func (Base) OnHeartbeat(context.Context, Tick) error { return nil }

// Topics has none.
func (Base) Topics() []string { return nil }

// A Message is what a run is to answer.
type Message struct {
	Agent   string
	Session string // its key
	Run     string
	Trigger run.Trigger
	ID      string // of the message, of the last where there are several
	Subject string // that brought it
	From    string // a person; of a delegate the agent that asks
	Name    string
	Chat    string
	Thread  string
	Group   bool
	Said    llm.Message // its text and media, as Decide would be given it
}

// Text is what it says.
func (m Message) Text() string { return m.Said.Text() }

// An Action is what becomes of a message. The zero Action lets it go on to
// Decide; of several fields the first that is set counts.
type Action struct {
	// Answer is the reply, at once.
	Answer string
	// Drop is why there is none: the person is told, with the code cancelled.
	Drop string
	// Change is what Decide, and the session's log, get in its place.
	Change llm.Message
}

// An Event is something that was published on a topic.
type Event struct {
	Agent   string
	Subject string
	Header  map[string][]string
	Data    []byte
}

// Decode reads the data as JSON.
func (e Event) Decode(v any) error { return json.Unmarshal(e.Data, v) }

// A Tick is one beat of an agent's heartbeat.
type Tick struct {
	Agent string
	At    time.Time // when it was due, the same on every host
}
