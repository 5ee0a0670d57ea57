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
	// dropSubject tells every host that a session was deleted.
	dropSubject = "agenthost.sessions.drop"
)

// A sessionStore carries out the operations on sessions.
type sessionStore struct {
	archive *session.Archive
	nc      *nats.Conn
	drop    func(agent string, key session.Key) bool // from memory
}

func (s *sessionStore) list(ctx context.Context, p session.Page) (session.Listing, error) {
	return s.archive.List(ctx, p)
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

// NotifyDropped tells all hosts that a session was deleted.
func NotifyDropped(nc *nats.Conn, d session.Deletion) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = nc.Publish(dropSubject, data)
	}
	return err
}
