package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/internal/audit"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// DeleteSessionSubject is where a host deletes a session.
const DeleteSessionSubject = "agenthost.sessions.delete"

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
