package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus/microservice"
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
	// Event is what a Fact tells.
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
	case msg.Header.Get(micro.ErrorCodeHeader) == codeNoSession:
		return d, ErrNoSession
	case msg.Header.Get(micro.ErrorCodeHeader) != "":
		return d, errors.New(msg.Header.Get(micro.ErrorHeader))
	}
	return d, json.Unmarshal(msg.Data, &d)
}

// The codes of ErrSessionRunning and ErrNoSession at a door.
const (
	codeBusy      = "409"
	codeNoSession = "404"
)

// reportWithin bounds what is done to sessions and dead letters: a deletion may
// have to read all of them.
const reportWithin = time.Minute

// archivist opens the doors to the sessions.
type archivist struct {
	archive *Archive
	nc      *nats.Conn
	drop    func(agent string, key session.Key) bool
	work    *sync.WaitGroup // requests that are being answered
}

// report makes an endpoint of a function that returns what to answer.
func report[In, Out any](work *sync.WaitGroup, do func(context.Context, In) (Out, error)) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		work.Go(func() { // else the endpoints of a service wait for each other
			ctx, cancel := context.WithTimeout(context.Background(), reportWithin)
			defer cancel()
			var in In
			var out Out
			err := error(nil)
			if len(req.Data()) > 0 {
				if bad := json.Unmarshal(req.Data(), &in); bad != nil {
					err = shut("400", "request: %w", bad)
				}
			}
			if err == nil {
				out, err = do(ctx, in)
			}
			if err == nil {
				err = req.RespondJSON(out) // which may be too large
			}
			if err != nil {
				_ = req.Error(codeOf(err), err.Error(), nil) // who asked may be gone
			}
		})
	})
}

func codeOf(err error) string {
	why, ok := errors.AsType[doorError](err)
	switch {
	case ok:
		return why.code
	case errors.Is(err, session.ErrNoSession):
		return codeNoSession
	case errors.Is(err, session.ErrRunning), errors.Is(err, session.ErrTaken):
		return codeBusy
	}
	return "503"
}

func (s *archivist) list(ctx context.Context, p SessionPage) (SessionListing, error) {
	return s.archive.List(ctx, p)
}

func (s *archivist) delete(ctx context.Context, r Removal) (Deletion, error) {
	sid, err := session.ID(r.Agent, r.Session)
	if err != nil {
		return Deletion{}, shut("400", "%w", err)
	}
	d, err := s.archive.Delete(ctx, r.Agent, sid, false)
	if err != nil {
		return d, err
	}
	s.drop(d.Agent, d.Key)
	data, err := json.Marshal(d)
	if err == nil {
		err = s.nc.Publish(dropSubject, data)
	}
	return d, err
}

func (s *archivist) fork(ctx context.Context, b Branching) (Fork, error) {
	f, err := b.Forking()
	if err != nil {
		return Fork{}, shut("400", "%w", err)
	}
	return s.archive.Fork(ctx, f)
}

// dropped hears that another host has deleted a session.
func (s *archivist) dropped(req micro.Request) {
	d := Deletion{}
	if err := json.Unmarshal(req.Data(), &d); err == nil {
		s.drop(d.Agent, d.Key)
	}
}

// endpoints are the doors to the sessions.
func (s *archivist) endpoints() []microservice.Endpoint {
	return []microservice.Endpoint{
		{
			Name: "sessions-ls", Subject: SessionsSubject, Handler: report(s.work, s.list),
			Description: "lists sessions, the last written first: agent, limit, after",
		},
		{
			Name: "sessions-delete", Subject: DeleteSessionSubject, Handler: report(s.work, s.delete),
			Description: "deletes a session: agent, session",
		},
		{
			Name: "sessions-fork", Subject: ForkSessionSubject, Handler: report(s.work, s.fork),
			Description: "makes a session of the beginning of another: agent, session, at, to",
		},
		{
			Name: "sessions-drop", Subject: dropSubject, Handler: micro.HandlerFunc(s.dropped), All: true, Notice: true,
			Description: "tells hosts that a session was deleted",
		},
	}
}
