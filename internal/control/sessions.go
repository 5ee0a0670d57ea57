package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agenthost/client"
	"agenthost/internal/eval"
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
	case "", session.IdleSession, session.RunningSession, session.WaitingSession, session.OperatorSession:
		return s.archive.List(ctx, p)
	}
	return session.Listing{}, coded(client.CodeBad, "state is %q; want idle, running, waiting or operator", p.State)
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

// SessionName names a session.
type SessionName struct {
	Agent   string `json:"agent"`
	Session string `json:"session" doc:"its key, or its sid"`
}

func (n SessionName) sid() (string, error) {
	sid, err := session.ID(n.Agent, n.Session)
	if err != nil {
		return "", coded(client.CodeBad, "%w", err)
	}
	return sid, nil
}

// A SessionView is a session as the list has it, with what waits in it.
type SessionView struct {
	session.Summary
	Phase   string           `json:"phase,omitempty"`
	Waiting []client.Waiting `json:"waiting"`
}

func (s *sessionStore) show(ctx context.Context, n SessionName) (SessionView, error) {
	sid, err := n.sid()
	if err != nil {
		return SessionView{}, err
	}
	state, sum, err := s.archive.State(ctx, n.Agent, sid)
	if err != nil {
		return SessionView{}, err
	}
	view := SessionView{Summary: sum, Waiting: []client.Waiting{}}
	if state.Run != nil {
		view.Phase = string(state.Phase)
	}
	all, err := s.waiting(ctx)
	for _, w := range all {
		if w.Agent == n.Agent && w.Session == string(sum.Key) {
			view.Waiting = append(view.Waiting, w)
		}
	}
	return view, err
}

// An EventsPage says which events of a session to list.
type EventsPage struct {
	SessionName
	Run   string `json:"run,omitempty" doc:"only those of this run"`
	From  uint64 `json:"from,omitempty" doc:"the sequence of the first commit; 0: the first of the session"`
	Limit int    `json:"limit,omitempty" doc:"events at most: 500, up to 5,000"`
}

// An EventListing is a page of the events of a session. Next is the From of the next
// page; 0: this is the last page.
type EventListing struct {
	Agent  string         `json:"agent"`
	Events []session.Fact `json:"events"`
	Next   uint64         `json:"next,omitempty"`
}

// answerHeadroom is what an answer takes around its list.
const answerHeadroom = 4 << 10

const (
	defaultEvents = 500
	mostEvents    = 5000
)

// events lists whole commits: a page ends early where it would be too large for a
// message, and is larger than was asked for where one commit is.
func (s *sessionStore) events(ctx context.Context, p EventsPage) (EventListing, error) {
	list := EventListing{Agent: p.Agent, Events: []session.Fact{}}
	sid, err := p.sid()
	if err != nil {
		return list, err
	}
	limit, room := min(cmp.Or(max(p.Limit, 0), defaultEvents), mostEvents), int(s.nc.MaxPayload())-answerHeadroom
	commit, size := 0, 0 // where the last commit of the page begins
	for f, err := range s.archive.History(ctx, p.Agent, sid, max(p.From, 1)) {
		if errors.Is(err, session.ErrNoSession) && p.From > 1 {
			if known, failed := s.archive.Has(ctx, p.Agent, sid); known || failed != nil {
				return list, failed // behind its last commit
			}
		}
		if err != nil {
			return list, err
		}
		if p.Run != "" && f.Of != p.Run && f.Event.Run != p.Run {
			continue
		}
		data, err := json.Marshal(f)
		if err != nil {
			return list, fmt.Errorf("encode event %d.%d: %w", f.Seq, f.N, err)
		}
		if f.N == 1 || len(list.Events) == 0 || list.Events[len(list.Events)-1].Seq != f.Seq {
			if commit = len(list.Events); commit >= limit {
				list.Next = f.Seq
				break
			}
		}
		size += len(data) + len(",")
		if size > room && commit > 0 {
			list.Next = f.Seq
			list.Events = list.Events[:commit]
			break
		}
		list.Events = append(list.Events, f)
	}
	return list, nil
}

// A SearchRequest says what to look for in the texts of sessions.
type SearchRequest struct {
	Text string `json:"text" doc:"in any case of letters"`
	byAgent
	Since time.Time `json:"since,omitzero" doc:"nothing older"`
	Limit int       `json:"limit,omitempty" doc:"hits at most: 50, up to 500; the newest count"`
}

// A SearchListing is where a text was said, the newest first.
type SearchListing struct {
	Hits []session.Hit `json:"hits"`
	More bool          `json:"more,omitempty"` // there are older ones
}

const (
	defaultHits = 50
	mostHits    = 500
	hitRunes    = 500 // of the text around what was looked for
)

func (s *sessionStore) search(ctx context.Context, r SearchRequest) (SearchListing, error) {
	list := SearchListing{Hits: []session.Hit{}}
	if r.Text == "" {
		return list, coded(client.CodeBad, "which text? want at least one letter")
	}
	c, limit := callerOf(ctx), min(cmp.Or(max(r.Limit, 0), defaultHits), mostHits)
	for hit, err := range s.archive.Find(ctx, session.Search{Text: r.Text, Agent: r.Agent, Since: r.Since}) {
		if err != nil {
			return list, err
		}
		if !c.reaches(hit.Agent) {
			continue
		}
		hit.Text = around(hit.Text, r.Text, hitRunes)
		if list.Hits = append(list.Hits, hit); len(list.Hits) > limit {
			list.Hits, list.More = list.Hits[1:], true
		}
	}
	for i, j := 0, len(list.Hits)-1; i < j; i, j = i+1, j-1 {
		list.Hits[i], list.Hits[j] = list.Hits[j], list.Hits[i]
	}
	return list, nil
}

// A ReplayReport is whether the log of a session makes the same session again.
type ReplayReport struct {
	Agent      string `json:"agent"`
	Session    string `json:"session"`
	Events     int    `json:"events"`
	Same       bool   `json:"same"`
	Divergence string `json:"divergence,omitempty"` // where and why not
}

func (s *sessionStore) facts(ctx context.Context, n SessionName) ([]session.Fact, error) {
	sid, err := n.sid()
	if err != nil {
		return nil, err
	}
	var facts []session.Fact
	for f, err := range s.archive.History(ctx, n.Agent, sid, 1) {
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return facts, nil
}

func (s *sessionStore) replay(ctx context.Context, n SessionName) (ReplayReport, error) {
	facts, err := s.facts(ctx, n)
	if err != nil {
		return ReplayReport{}, err
	}
	report := ReplayReport{Agent: n.Agent, Session: n.Session, Events: len(facts), Same: true}
	if err := eval.Replay(facts); err != nil {
		report.Same, report.Divergence = false, err.Error()
	}
	return report, nil
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
