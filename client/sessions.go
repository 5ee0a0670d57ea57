package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/internal/audit"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

type (
	// SessionPage says which sessions to list.
	SessionPage = session.Page
	// SessionListing is a page of sessions.
	SessionListing = session.Listing
	// SessionSummary is a session of that page.
	SessionSummary = session.Summary
	// SessionSearch is what to look for in sessions.
	SessionSearch = session.Search
	// SessionHit is a place where it was found.
	SessionHit = session.Hit
	// SessionState is how far a session has come.
	SessionState = run.State
	// Fact is one event of a log, with its place.
	Fact = session.Fact
	// SessionEvent is what has happened, in a Fact.
	SessionEvent = run.Event
	// Deletion is what was deleted.
	Deletion = session.Deletion
	// Fork is a session that was made of another.
	Fork = session.Fork
)

// OperatorSession is the State of a SessionSummary whose chat a person has taken over.
const OperatorSession = session.OperatorSession

// Why something cannot be done with a session.
var (
	ErrNoSession      = session.ErrNoSession
	ErrSessionRunning = session.ErrRunning
)

// Sessions are the sessions of a fleet. A session is named by its agent and its
// sid, which Find and SessionID return. No host needs to run.
type Sessions struct {
	client  *Client
	archive *session.Archive
}

// Sessions are those of the fleet.
func (c *Client) Sessions() *Sessions { return &Sessions{c, session.NewArchive(c.js)} }

// Client is the one whose sessions these are.
func (s *Sessions) Client() *Client { return s.client }

// SessionID is the sid, the name in subjects, of the session that text names by
// its key or by that very name.
func SessionID(agent, text string) (sid string, err error) { return session.ID(agent, text) }

// RouteKey is the key of the session in which an agent gets messages from that
// name in the session of that name.
func RouteKey(from, name string) string { return string(session.Route(from, name)) }

// A NameError is the error of a text that can be no session's name.
type NameError struct{ error }

// Unwrap is what is wrong with it.
func (e *NameError) Unwrap() error { return e.error }

// List lists a page of sessions, the one last written to first.
func (s *Sessions) List(ctx context.Context, p SessionPage) (SessionListing, error) {
	list, err := s.archive.List(ctx, p)
	return list, s.explain(ctx, err)
}

// State is how far a session has come, and its line of the list.
func (s *Sessions) State(ctx context.Context, agent, sid string) (SessionState, SessionSummary, error) {
	state, sum, err := s.archive.State(ctx, agent, sid)
	return state, sum, s.explain(ctx, err)
}

func (s *Sessions) state(ctx context.Context, agent, key string) (SessionState, SessionSummary, error) {
	sid, err := session.ID(agent, key)
	if err != nil {
		return SessionState{}, SessionSummary{}, err
	}
	return s.State(ctx, agent, sid)
}

// History yields the events of a session from commit from on, 1 being the first.
func (s *Sessions) History(ctx context.Context, agent, sid string, from uint64) iter.Seq2[Fact, error] {
	return s.explained(ctx, s.archive.History(ctx, agent, sid, from))
}

// Events yields the events of a session, all or those of one run. That it has no
// such run is an error.
func (s *Sessions) Events(ctx context.Context, agent, sid, run string) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		found := run == ""
		for f, err := range s.History(ctx, agent, sid, 1) {
			if err == nil && run != "" && f.Of != run && f.Event.Run != run {
				continue
			}
			found = true
			if !yield(f, err) {
				return
			}
		}
		if !found {
			yield(Fact{}, fmt.Errorf("the session has no run %q; its export names them in the field of", run))
		}
	}
}

// Follow yields the events of a session from now on, until ctx ends. ready is
// called when nothing can be missed any more.
func (s *Sessions) Follow(ctx context.Context, agent, sid string, ready func()) iter.Seq2[Fact, error] {
	return s.explained(ctx, s.archive.Follow(ctx, agent, sid, ready))
}

// Search yields the places where a text was said, the oldest first.
func (s *Sessions) Search(ctx context.Context, what SessionSearch) iter.Seq2[SessionHit, error] {
	return explained(s.archive.Find(ctx, what), func(err error) error { return s.explain(ctx, err) })
}

// Of are the keys of the direct sessions of an agent with a person.
func (s *Sessions) Of(ctx context.Context, agent, person string) (keys []string, err error) {
	list, err := s.archive.Of(ctx, agent, person)
	for _, key := range list {
		keys = append(keys, string(key))
	}
	return keys, s.explain(ctx, err)
}

// explain says what it means that there is no stream of sessions. Reading one
// that there is not looks like a missing JetStream.
func (s *Sessions) explain(ctx context.Context, err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		if _, missing := s.client.js.Stream(ctx, bus.SessionsStream); errors.Is(missing, jetstream.ErrStreamNotFound) {
			err = missing
		}
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("no stream %s: no host has run on this NATS yet", bus.SessionsStream)
	}
	return err
}

func (s *Sessions) explained(ctx context.Context, facts iter.Seq2[Fact, error]) iter.Seq2[Fact, error] {
	return explained(facts, func(err error) error { return s.explain(ctx, err) })
}

func explained[T any](seq iter.Seq2[T, error], explain func(error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for one, err := range seq {
			if err != nil {
				err = explain(err)
			}
			if !yield(one, err) {
				return
			}
		}
	}
}

// DeleteSessionSubject is where a host deletes a session.
const DeleteSessionSubject = "agenthost.sessions.delete"

// A Removal says which session to delete.
type Removal struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key, or its sid
}

// deleteWithin bounds the deletion of one session, which may have to look for
// its objects in all others.
const deleteWithin = time.Minute

// Delete deletes a session for good by a host of the fleet, unless a run is under
// way in it, which is ErrSessionRunning. Where no host runs it is deleted here,
// whatever was under way.
func (s *Sessions) Delete(ctx context.Context, r Removal) (Deletion, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteWithin)
	defer cancel()
	d, err := s.delete(ctx, r)
	return d, s.explain(ctx, err)
}

func (s *Sessions) delete(ctx context.Context, r Removal) (Deletion, error) {
	sid, err := session.ID(r.Agent, r.Session)
	if err != nil {
		return Deletion{}, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return Deletion{}, err
	}
	msg, err := s.client.nc.RequestMsgWithContext(ctx, s.client.request(DeleteSessionSubject, data))
	if errors.Is(err, nats.ErrNoResponders) {
		d, err := s.archive.Delete(ctx, r.Agent, sid, true)
		if err == nil {
			s.client.note(ctx, audit.Entry{Action: "sessions-delete", Agent: d.Agent, Session: string(d.Key)})
		}
		return d, err
	}
	d := Deletion{}
	switch {
	case err != nil:
		return d, fmt.Errorf("delete session %s: %w", r.Session, err)
	case msg.Header.Get(micro.ErrorCodeHeader) == CodeBusy:
		return d, ErrSessionRunning
	case msg.Header.Get(micro.ErrorCodeHeader) == CodeNotFound:
		return d, ErrNoSession
	case msg.Header.Get(micro.ErrorCodeHeader) != "":
		return d, errors.New(msg.Header.Get(micro.ErrorHeader))
	}
	return d, json.Unmarshal(msg.Data, &d)
}

// A Branching says which session to fork, and where.
type Branching struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`      // its key, or its sid
	At      string `json:"at,omitempty"` // SEQ or SEQ.N; empty: the end
	To      string `json:"to,omitempty"` // the key of the fork; empty: a free one
}

// Forking is b, checked.
func (b Branching) Forking() (session.Forking, error) {
	f := session.Forking{Agent: b.Agent, To: session.Key(b.To)}
	var err error
	if f.SID, err = session.ID(b.Agent, b.Session); err == nil && b.At != "" {
		f.At, err = session.ParsePlace(b.At)
	}
	if err == nil && b.To != "" {
		err = session.CheckKey(f.To)
	}
	return f, err
}

// Fork copies a session up to a given event. Nothing is overwritten.
func (s *Sessions) Fork(ctx context.Context, b Branching) (Fork, error) {
	f, err := b.Forking()
	if err != nil {
		return Fork{}, err
	}
	made, err := s.archive.Fork(ctx, f)
	if err == nil {
		s.client.note(ctx, audit.Entry{Action: "sessions-fork", Agent: b.Agent, Session: string(made.From), Detail: strings.TrimSpace(b.At + " " + string(made.Key))})
	}
	return made, s.explain(ctx, err)
}
