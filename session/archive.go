package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go/jetstream"
)

// An Archive gives access to the sessions of a fleet without owning them. Its
// changes are fenced as every commit is: an owner that has a session in memory
// is refused its next commit and reads the log again.
type Archive struct {
	store *Store
	js    jetstream.JetStream
}

// NewArchive makes an Archive of the sessions that js keeps.
func NewArchive(js jetstream.JetStream) *Archive {
	return &Archive{js: js, store: &Store{
		Reader: records.NewReader(js), Files: filestore.New(js),
	}}
}

// ErrNoSession means that there is no such session.
var ErrNoSession = errors.New("there is no such session")

var isSID = regexp.MustCompile(`^[a-z2-7]{20}$`)

// ID is the name in subjects of the session that text names, by key or by that
// very name. A key always has a slash.
func ID(agent, text string) (sid string, err error) {
	if isSID.MatchString(text) {
		return text, nil
	}
	if err := CheckKey(Key(text)); err != nil {
		return "", err
	}
	return SID(agent, Key(text)), nil
}

// The shapes of keys. The chat of a group and the sender of a
// task may be empty, as messages may lack them.
var (
	isRoute = regexp.MustCompile(`^route/[^/]*/[^/]+$`)
	isOther = regexp.MustCompile(`^((schedule|event)/[^/]+|[^/]+/dm/[^/]+(/[^/]+)?|[^/]+/group/[^/]*(/[^/]+)?)$`)
)

// CheckKey refuses what can be no session's key.
func CheckKey(key Key) error {
	shape := isOther
	if strings.HasPrefix(string(key), routes+"/") {
		shape = isRoute
	}
	if shape.MatchString(string(key)) {
		return nil
	}
	return fmt.Errorf("%q is no key of a session; want one such as web/dm/ana, telegram.sales/group/-100, route/kate/c1 or schedule/morning", key)
}

// A Fact is one event of a log, with the commit that has it, its number in
// there from 1, and the run the commit is of. It is written as the event is in
// the log, with these in front.
type Fact struct {
	Seq   uint64
	N     int
	Of    string
	Event run.Event
	raw   json.RawMessage
}

// MarshalJSON writes the event as the log has it.
func (f Fact) MarshalJSON() ([]byte, error) {
	of, err := json.Marshal(f.Of)
	if err != nil {
		return nil, err
	}
	out := append(strconv.AppendUint([]byte(`{"seq":`), f.Seq, 10), `,"n":`...)
	out = append(append(strconv.AppendInt(out, int64(f.N), 10), `,"of":`...), of...)
	if rest := strings.TrimSpace(string(f.raw[1:])); rest != "}" {
		out = append(out, ',')
	}
	return append(out, f.raw[1:]...), nil
}

// History reads the log of a session, oldest first, from the commit with
// sequence from on. An error ends it; ErrNoSession, when there is no log.
func (a *Archive) History(ctx context.Context, agent, sid string, from uint64) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		none := true
		for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, Subject(agent, sid), from) {
			var facts []Fact
			if err == nil {
				none = false
				facts, err = a.read(ctx, rec)
			}
			if err != nil {
				yield(Fact{}, fmt.Errorf("read session %s of %s: %w", sid, agent, err))
				return
			}
			for _, f := range facts {
				if !yield(f, nil) {
					return
				}
			}
		}
		if none {
			yield(Fact{}, fmt.Errorf("session %s of %s: %w", sid, agent, ErrNoSession))
		}
	}
}

// read takes a commit apart.
func (a *Archive) read(ctx context.Context, rec records.Record) ([]Fact, error) {
	c, err := a.store.decode(ctx, rec)
	if errors.Is(err, errForeign) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("commit %d: %w", rec.Seq, err)
	}
	raw := struct{ Events []json.RawMessage }{}
	data := rec.Data
	if c.Object == "" {
		err = readJSON(data, &raw)
	} else if data, err = a.store.Files.Get(ctx, c.Object); err == nil {
		err = readJSON(data, &raw.Events)
	}
	if err != nil {
		return nil, fmt.Errorf("commit %d: %w", rec.Seq, err)
	}
	facts, runs := make([]Fact, len(c.Events)), c.runs()
	for i, e := range c.Events {
		facts[i] = Fact{rec.Seq, i + 1, runs[i], e, raw.Events[i]}
	}
	return facts, nil
}

// A Summary is what a list says of a session.
type Summary struct {
	Agent    string    `json:"agent"`
	SID      string    `json:"sid"`
	Key      Key       `json:"key"`
	At       time.Time `json:"at"`  // of the last commit
	Seq      uint64    `json:"seq"` // of the last commit
	Title    string    `json:"title,omitempty"`
	Messages int       `json:"messages"` // of the conversation as the model sees it
	State    string    `json:"state"`    // idle, running, waiting or operator
	For      []string  `json:"for,omitempty"`
	Queued   int       `json:"queued,omitempty"` // accepted, not yet begun
	Spent    int64     `json:"spent,omitempty"`  // on models, in micro-cents
	Fault    string    `json:"fault,omitempty"`  // why there is no more to say
}

// What a session is doing, the State of a Summary.
const (
	IdleSession    = "idle"
	RunningSession = "running"
	WaitingSession = "waiting"
	// OperatorSession is one whose chat a person has taken over.
	OperatorSession = "operator"
)

// KeyOf is the key of the session with that name in subjects; ErrNoSession, when there
// is none.
func (a *Archive) KeyOf(ctx context.Context, agent, sid string) (Key, error) {
	key, err := a.store.KeyOf(ctx, agent, sid)
	if errors.Is(err, records.ErrNotFound) {
		err = fmt.Errorf("session %s of %s: %w", sid, agent, ErrNoSession)
	}
	return key, err
}

// Answered are the replies to the message that was sent with that id in the chat with key own,
// the session of which is joined; none while it has no end, and where there is no such message or
// session. A log of a host of before may name a message of another account by that id.
func (a *Archive) Answered(ctx context.Context, agent string, own, joined Key, id string) ([]run.Reply, error) {
	l, err := a.store.open(ctx, agent, SID(agent, joined), joined)
	if err != nil {
		return nil, err
	}
	seq, seen := l.ids.get(LoggedID(id, own, joined))
	if !seen {
		seq, _ = l.ids.get(id)
	}
	if seq == 0 {
		return nil, nil
	}
	said, err := a.store.Said(ctx, seq)
	return said.to(id), err
}

// State reads the state of a session and its last commit.
func (a *Archive) State(ctx context.Context, agent, sid string) (run.State, Summary, error) {
	s := Summary{Agent: agent, SID: sid}
	rec, err := a.store.Reader.Last(ctx, bus.SessionsStream, Subject(agent, sid))
	if errors.Is(err, records.ErrNotFound) {
		err = ErrNoSession
	}
	if err != nil {
		return run.State{}, s, fmt.Errorf("session %s of %s: %w", sid, agent, err)
	}
	s.Seq, s.At = rec.Seq, rec.Time.UTC()
	if s.Key, err = a.store.keyIn(ctx, rec); err != nil && !errors.Is(err, records.ErrNotFound) {
		return run.State{}, s, fmt.Errorf("session %s of %s: %w", sid, agent, err)
	}
	l, err := a.store.open(ctx, agent, sid, s.Key)
	if err != nil {
		return run.State{}, s, err
	}
	s.describe(l.state)
	return l.state, s, nil
}

func (s *Summary) describe(state run.State) {
	s.Messages, s.Queued, s.State = len(state.Messages), len(state.Waiting), IdleSession
	s.Spent = state.Spent
	if state.Operator != nil {
		s.State = OperatorSession
		if state.Operator.By != "" {
			s.For = []string{state.Operator.By}
		}
	}
	if state.Run == nil {
		return
	}
	s.State = RunningSession
	if state.Phase == run.InSuspense {
		s.State = WaitingSession
	}
	for _, c := range state.Run.Open() {
		s.For = append(s.For, c.Asked)
	}
}

// Decode takes a commit of a log apart, as a stream has it. What no host has written
// has neither key nor events.
func (a *Archive) Decode(ctx context.Context, rec records.Record) (Key, []Fact, error) {
	facts, err := a.read(ctx, rec)
	return keyOf(rec.Data), facts, err
}
