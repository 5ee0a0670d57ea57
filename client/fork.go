package client

import (
	"context"
	"strings"

	"agenthost/internal/audit"
	"agenthost/session"
)

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
