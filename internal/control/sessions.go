package control

import (
	"context"
	"encoding/json"

	"agenthost/client"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// The subjects by which programs list and fork sessions.
const (
	SessionsSubject    = "agenthost.sessions.ls"
	ForkSessionSubject = "agenthost.sessions.fork"
)

// A sessionStore carries out the operations on sessions.
type sessionStore struct {
	archive *session.Archive
	nc      *nats.Conn
	drop    func(agent string, key session.Key) bool // from memory
	known   func(ctx context.Context) []string       // the agents that a caller may see
	waiting func(ctx context.Context) ([]client.Waiting, error)
}

func (s *sessionStore) list(ctx context.Context, p session.Page) (session.Listing, error) {
	if callerOf(ctx).limited() && p.Agent == "" {
		if p.Among = s.known(ctx); len(p.Among) == 0 {
			return session.Listing{Sessions: []session.Summary{}}, nil
		}
	}
	switch p.State {
	case "", session.IdleSession, session.RunningSession, session.WaitingSession:
		return s.archive.List(ctx, p)
	}
	return session.Listing{}, coded(client.CodeBad, "state is %q; want idle, running or waiting", p.State)
}

func (s *sessionStore) delete(ctx context.Context, r client.Removal) (session.Deletion, error) {
	sid, err := session.ID(r.Agent, r.Session)
	if err != nil {
		return session.Deletion{}, coded(client.CodeBad, "%w", err)
	}
	d, err := s.archive.Delete(ctx, r.Agent, sid, false)
	if err != nil {
		return d, err
	}
	s.drop(d.Agent, d.Key)
	return d, NotifyDropped(s.nc, d)
}

func (s *sessionStore) fork(ctx context.Context, b client.Branching) (session.Fork, error) {
	f, err := b.Forking()
	if err != nil {
		return session.Fork{}, coded(client.CodeBad, "%w", err)
	}
	return s.archive.Fork(ctx, f)
}

// dropped takes notice that another host has deleted a session.
func (s *sessionStore) dropped(_ context.Context, d session.Deletion) error {
	s.drop(d.Agent, d.Key)
	return nil
}

// NotifyDropped announces to all hosts that a session was deleted.
func NotifyDropped(nc *nats.Conn, d session.Deletion) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = nc.Publish(client.DropSessionSubject, data)
	}
	return err
}
