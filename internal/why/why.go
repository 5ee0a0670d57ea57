// Package why tells the way of one message, run or call, from what the streams keep.
// It needs no host.
package why

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A Way is what became of a message, a run or a call.
type Way struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	State string `json:"state"`
	Steps []Step `json:"steps"` // in order of time
}

// What an id can be of.
const (
	Inbound  = "inbound"
	Outbound = "outbound"
	Run      = "run"
	Call     = "call"
)

// The states of a Way.
const (
	Waiting  = "waiting"  // for its turn, a person or another agent
	Running  = "running"  // its run is at work
	Answered = "answered" // all that comes of it is stored
	Merged   = "merged"   // it is answered together with a later message
	Dead     = "dead"     // it is a dead letter
)

// A Step is one thing that has happened.
type Step struct {
	At      time.Time `json:"at"`
	What    string    `json:"what"`
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"`
	Run     string    `json:"run,omitempty"`
	Host    string    `json:"host,omitempty"`
	Stream  string    `json:"stream,omitempty"`
	Seq     uint64    `json:"seq,omitempty"`
	Subject string    `json:"subject,omitempty"`
	ID      string    `json:"id,omitempty"`   // of the message, reply or call
	Name    string    `json:"name,omitempty"` // of a model, a tool, an agent, a consumer or what is paused
	Detail  string    `json:"detail,omitempty"`
}

// What a Step tells.
const (
	Accepted  = "accepted"
	Queued    = "queued" // in the log of its session
	Paused    = "paused" // an operator has paused what would take it
	Started   = "run started"
	Joined    = "joined the run"
	Called    = "model called"
	Hooked    = "hook"
	Requested = "tool requested"
	Finished  = "tool finished"
	Asked     = "asked"
	Settled   = "answer"
	Delegated = "delegated"
	Suspended = "waits"
	Replied   = "replied"
	Published = "published"
	Delivered = "delivered"
	Pending   = "not delivered yet"
	Ended     = "run ended"
	Refused   = "refused"
	Withdrawn = "withdrawn"
	PassedOn  = "passed on"             // to a run of another session
	Heard     = "shown to the operator" // who has taken the chat over
	DeadLike  = "dead letter"
	SentAgain = "sent again" // of a dead letter
	NotTaken  = "taken by no run"
	Unbound   = "no agent is bound" // to the subject that it came on
)

// ErrUnknown is returned for an id of which no stream has anything.
var ErrUnknown = errors.New("no stream has anything of this id; messages are kept for three days, sessions for ever. The id is that of a message, a reply, a run or a call")

// A search looks for one id.
type search struct {
	js      jetstream.JetStream
	reader  *records.Reader
	archive *session.Archive
	id      string
	looked  func(n int)
	way     Way
	seen    map[string]bool // steps that are there already

	ids       map[string]bool                      // that are looked for, of all searches for one way
	lanes     map[string][]*jetstream.ConsumerInfo // by stream
	mentioned bool                                 // a session has the id, whatever for
	places    map[place]bool                       // of the message and its replies
	refused   map[place]bool                       // of these, what a plugin has given up

	turns []turn // that the message waits for

	unpublished map[string]bool // ids of dead letters that replies have which no stream has
}

// Find tells the way of an id. looked, which may be nil, hears how many stored
// messages were looked at.
func Find(ctx context.Context, js jetstream.JetStream, id string, looked func(n int)) (Way, error) {
	if looked == nil {
		looked = func(int) {}
	}
	s := &search{js: js, reader: records.NewReader(js), archive: session.NewArchive(js), looked: looked, ids: map[string]bool{}}
	way, err := s.another(id).find(ctx)
	if err != nil {
		return Way{}, fmt.Errorf("why %s: %w", id, err)
	}
	return way, nil
}

// another is a search like s for an id.
func (s *search) another(id string) *search {
	s.ids[id] = true
	return &search{
		ids: s.ids, js: s.js, reader: s.reader, archive: s.archive, id: id, looked: s.looked, way: Way{ID: id}, seen: map[string]bool{},
		lanes: map[string][]*jetstream.ConsumerInfo{}, places: map[place]bool{}, refused: map[place]bool{}, unpublished: map[string]bool{},
	}
}

func (s *search) find(ctx context.Context) (Way, error) {
	for _, look := range []func(context.Context) error{s.lookAtLanes, s.lookIntoSessions, s.lookIntoInbound, s.lookIntoRetries, s.lookIntoDead, s.lookAtPauses} {
		if err := look(ctx); err != nil {
			return Way{}, err
		}
	}
	if len(s.way.Steps) == 0 {
		return Way{}, ErrUnknown
	}
	s.way.Steps = slices.DeleteFunc(s.way.Steps, s.givenUp)
	slices.SortStableFunc(s.way.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
	return s.way, nil
}

// add adds a step, once.
func (s *search) add(step Step) {
	step.At = step.At.UTC()
	key := strings.Join([]string{step.What, step.Agent, step.Stream, strconv.FormatUint(step.Seq, 10), step.ID, step.Run, step.Name, step.At.String()}, "\x00")
	if !s.seen[key] {
		s.seen[key] = true
		s.way.Steps = append(s.way.Steps, step)
	}
}

// is says what the id is of and how it stands, unless that is known already.
func (s *search) is(kind, state string) {
	if s.way.Kind == "" {
		s.way.Kind = kind
	}
	if s.way.State == "" || rank(state) > rank(s.way.State) {
		s.way.State = state
	}
}

// rank orders states: of several agents that got a message, the one that is furthest
// from an answer counts.
func rank(state string) int {
	return slices.Index([]string{Merged, Answered, Dead, Running, Waiting}, state)
}
