package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// The subjects by which programs list, delete and fork sessions.
const (
	SessionsSubject      = "agenthost.sessions.ls"
	DeleteSessionSubject = "agenthost.sessions.delete"
	ForkSessionSubject   = "agenthost.sessions.fork"
	// dropSubject tells every host that a session was deleted.
	dropSubject = "agenthost.sessions.drop"
)

type (
	// Archive is the sessions of a fleet to those who own none of them.
	Archive = session.Archive
	// SessionPage says which sessions to list.
	SessionPage = session.Page
	// SessionListing is a page of sessions.
	SessionListing = session.Listing
	// SessionSearch is what to look for in sessions.
	SessionSearch = session.Search
	// SessionHit is a place where that was said.
	SessionHit = session.Hit
	// Fact is one event of a log, with its place.
	Fact = session.Fact
	// Event is the content of a Fact.
	Event = run.Event
	// Deletion is what was deleted.
	Deletion = session.Deletion
	// Fork is a session that was made of another.
	Fork = session.Fork
)

// Why something cannot be done with a session.
var (
	ErrNoSession      = session.ErrNoSession
	ErrSessionRunning = session.ErrRunning
)

// Sessions are the sessions of the fleet on js.
func Sessions(js jetstream.JetStream) *Archive { return session.NewArchive(js) }

// A Removal says which session to delete.
type Removal struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key, or its sid
}

// A Branching says which session to fork, and where.
type Branching struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`      // its key, or its sid
	At      string `json:"at,omitempty"` // SEQ or SEQ.N; empty: the end
	To      string `json:"to,omitempty"` // the key of the fork; empty: a free one
}

// SessionID is the name in subjects of the session that text names, by its key
// or by that very name.
func SessionID(agent, text string) (sid string, err error) { return session.ID(agent, text) }

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

// DeleteSession deletes a session by a host of the fleet. Where none runs it is
// deleted here, whatever was under way in it.
func DeleteSession(ctx context.Context, nc *nats.Conn, a *Archive, r Removal) (Deletion, error) {
	sid, err := session.ID(r.Agent, r.Session)
	if err != nil {
		return Deletion{}, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return Deletion{}, err
	}
	msg, err := nc.RequestWithContext(ctx, DeleteSessionSubject, data)
	if errors.Is(err, nats.ErrNoResponders) {
		return a.Delete(ctx, r.Agent, sid, true)
	}
	d := Deletion{}
	switch {
	case err != nil:
		return d, fmt.Errorf("delete session %s: %w", r.Session, err)
	case msg.Header.Get(micro.ErrorCodeHeader) == codeBusy:
		return d, ErrSessionRunning
	case msg.Header.Get(micro.ErrorCodeHeader) == codeNotFound:
		return d, ErrNoSession
	case msg.Header.Get(micro.ErrorCodeHeader) != "":
		return d, errors.New(msg.Header.Get(micro.ErrorHeader))
	}
	return d, json.Unmarshal(msg.Data, &d)
}

// A sessionStore carries out the operations on sessions.
type sessionStore struct {
	archive *Archive
	nc      *nats.Conn
	drop    func(agent string, key session.Key) bool // from memory
}

func (s *sessionStore) list(ctx context.Context, p SessionPage) (SessionListing, error) {
	return s.archive.List(ctx, p)
}

func (s *sessionStore) delete(ctx context.Context, r Removal) (Deletion, error) {
	sid, err := session.ID(r.Agent, r.Session)
	if err != nil {
		return Deletion{}, coded(codeBad, "%w", err)
	}
	d, err := s.archive.Delete(ctx, r.Agent, sid, false)
	if err != nil {
		return d, err
	}
	s.drop(d.Agent, d.Key)
	return d, NotifyDropped(s.nc, d)
}

func (s *sessionStore) fork(ctx context.Context, b Branching) (Fork, error) {
	f, err := b.Forking()
	if err != nil {
		return Fork{}, coded(codeBad, "%w", err)
	}
	return s.archive.Fork(ctx, f)
}

// dropped takes notice that another host has deleted a session.
func (s *sessionStore) dropped(_ context.Context, d Deletion) error {
	s.drop(d.Agent, d.Key)
	return nil
}

// NotifyDropped tells all hosts that a session was deleted.
func NotifyDropped(nc *nats.Conn, d Deletion) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = nc.Publish(dropSubject, data)
	}
	return err
}
