package httpapi

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/client"
	"agenthost/run"
	"agenthost/session"
)

// The names of events.
const (
	eventHello     = "hello"     // where the stream of events begins
	eventReset     = "reset"     // too much was missed: read the lists again
	eventSession   = "session"   // something was written to the log of a session
	eventRun       = "run"       // a run has started, waits, goes on or has ended
	eventWaiting   = "waiting"   // an approval, a question or a delegate: asked or answered
	eventFact      = "event"     // one event of the log, of the session that was asked for
	eventDelta     = "delta"     // what the model of that session writes
	eventHeartbeat = "heartbeat" // of an agent
	eventAgent     = "agent"     // started, stopped, takeover, reload
	eventAlarm     = "alarm"     // dead, breaker, budget, and whatever else agents tell
	eventChannels  = "channels"  // accounts of channels that have changed
)

// A SessionChange says that something was written to the log of a session.
type SessionChange struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	SID     string    `json:"sid"`
	Run     string    `json:"run,omitempty"`
	Seq     uint64    `json:"seq"`    // of the commit
	Events  []string  `json:"events"` // their types; none: the session was deleted
	At      time.Time `json:"at"`
}

// A RunChange says what has become of a run.
type RunChange struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Run     string    `json:"run"`
	State   string    `json:"state"` // started, waiting or ended
	Outcome string    `json:"outcome,omitempty"`
	Error   string    `json:"error,omitempty"` // its code
	Waiting []string  `json:"waiting,omitempty"`
	At      time.Time `json:"at"`
}

// A WaitingChange says that a question was asked or answered.
type WaitingChange struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Run     string    `json:"run"`
	Kind    string    `json:"kind"`  // approval or question
	State   string    `json:"state"` // asked or answered
	Prompt  string    `json:"prompt,omitempty"`
	Answer  string    `json:"answer,omitempty"`
	By      string    `json:"by,omitempty"`
	Door    string    `json:"door,omitempty"`
	At      time.Time `json:"at"`
}

// newsOf is what a message of a stream says. It always has its place, so that
// nothing comes twice.
func (f *Feed) newsOf(ctx context.Context, stream string, rec records.Record) news {
	n := news{at: placeIn(stream, rec.Seq)}
	if stream == bus.EventsStream {
		n.ofEvent(rec)
		return n
	}
	rest, ok := strings.CutPrefix(rec.Subject, "agent.session.")
	if !ok {
		return n
	}
	key, facts, err := f.archive.Decode(ctx, rec)
	if err != nil {
		f.log.Debug().Err(err).Str("subject", rec.Subject).Msg("read commit for events")
	}
	n.agent, n.sid, _ = strings.Cut(rest, ".")
	n.session, n.facts = string(key), facts
	n.ofCommit(rec)
	return n
}

func (n *news) add(name string, data any) { n.items = append(n.items, item{name, data}) }

// ofEvent is what hosts tell on agent.events.
func (n *news) ofEvent(rec records.Record) {
	agent, kind, _ := strings.Cut(strings.TrimPrefix(rec.Subject, bus.EventsPrefix), ".")
	n.agent = agent
	if !json.Valid(rec.Data) || !bus.IsObject(rec.Data) {
		return // no host has written it
	}
	name := eventAlarm
	switch kind {
	case "heartbeat":
		name = eventHeartbeat
	case "started", "stopped", "takeover", "reload":
		name = eventAgent
	}
	n.add(name, json.RawMessage(oneLine(rec.Data)))
}

// oneLine is JSON without line breaks, which would end an event.
func oneLine(data []byte) []byte {
	text := strings.NewReplacer("\r", " ", "\n", " ").Replace(string(data)) // in a string they are escaped
	return []byte(text)
}

// ofCommit is what a commit of a log says.
func (n *news) ofCommit(rec records.Record) {
	change := SessionChange{Agent: n.agent, Session: n.session, SID: n.sid, Seq: rec.Seq, Events: []string{}, At: rec.Time.UTC()}
	for _, fact := range n.facts {
		change.Events = append(change.Events, string(fact.Event.Type))
		change.Run = fact.Of
	}
	n.add(eventSession, change)
	for _, fact := range n.facts {
		n.ofFact(fact)
	}
}

func (n *news) ofFact(fact session.Fact) {
	e := fact.Event
	of := e.Run
	if of == "" {
		of = fact.Of
	}
	r := RunChange{Agent: n.agent, Session: n.session, Run: of, At: e.At.UTC()}
	w := WaitingChange{Agent: n.agent, Session: n.session, Run: of, At: e.At.UTC(), By: e.By, Door: e.Door, Answer: e.Answer, Prompt: e.Prompt}
	if e.Wait != "" {
		w.ID = n.agent + "." + n.sid + "." + e.Wait
	}
	switch e.Type {
	case run.Started:
		r.State = "started"
		n.add(eventRun, r)
	case run.Suspended:
		r.State, r.Waiting = "waiting", e.Waiting
		n.add(eventRun, r)
	case run.Finished:
		r.State, r.Outcome = "ended", string(e.Outcome)
		if e.Error != nil {
			r.Error = string(e.Error.Code)
		}
		n.add(eventRun, r)
	case run.ApprovalAsked, run.ApprovalAnswered:
		w.Kind, w.State = client.ForApproval, "asked"
		if e.Type == run.ApprovalAnswered {
			w.State = "answered"
		}
		n.add(eventWaiting, w)
	case run.QuestionAsked, run.QuestionAnswered:
		w.Kind, w.State = client.ForQuestion, "asked"
		if e.Type == run.QuestionAnswered {
			w.State = "answered"
		}
		n.add(eventWaiting, w)
	}
}
