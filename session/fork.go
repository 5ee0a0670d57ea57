package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// A Place is where a fork leaves a log: behind the commit Seq, or behind its
// event N when that is not 0. The zero Place is the end.
type Place struct {
	Seq uint64
	N   int
}

// ParsePlace reads SEQ or SEQ.N, as a Fact numbers events.
func ParsePlace(text string) (Place, error) {
	seq, n, dotted := strings.Cut(text, ".")
	p := Place{}
	var err, bad error
	p.Seq, err = strconv.ParseUint(seq, 10, 64)
	if dotted {
		p.N, bad = strconv.Atoi(n)
	}
	if err != nil || bad != nil || p.Seq == 0 || dotted && p.N < 1 {
		return p, fmt.Errorf("%q is no place in a log; want SEQ, or SEQ.N for the event N of that commit", text)
	}
	return p, nil
}

// A Forking is what to fork, and what of. An empty To is a free key that ends in
// ~fork-1, ~fork-2 and so on.
type Forking struct {
	Agent, SID string
	At         Place
	To         Key
}

// A Fork is a session that was made of another.
type Fork struct {
	Agent  string `json:"agent"`
	From   Key    `json:"from"`
	Key    Key    `json:"key"`
	SID    string `json:"sid"`
	Seq    uint64 `json:"seq"` // of its only commit
	Events int    `json:"events"`
}

// ErrTaken means that a session of that key exists.
var ErrTaken = errors.New("the session exists")

// ErrNoPlace means that the log of a session has no event at a place.
var ErrNoPlace = errors.New("its log has no such place; take seq and n from its export")

// Fork makes a session of the first events of another, in one commit, without side
// effects: a run that is under way there is stopped in the copy and its open
// questions are left out. Replies lose their address, so that none is published
// again. Inputs get ids of their own, so that what the first session has answered
// can be asked again.
func (a *Archive) Fork(ctx context.Context, f Forking) (Fork, error) {
	from, events, err := a.upTo(ctx, f)
	if err != nil {
		return Fork{}, fmt.Errorf("fork: %w", err)
	}
	made := Fork{Agent: f.Agent, From: from, Key: f.To, Events: len(events)}
	for n := 1; ; n++ {
		if f.To == "" {
			made.Key = Key(fmt.Sprintf("%s~fork-%d", from, n))
		}
		made.SID = SID(f.Agent, made.Key)
		made.Seq, err = a.begin(ctx, f.Agent, made.Key, events)
		if f.To != "" || !errors.Is(err, ErrTaken) {
			break
		}
	}
	if err != nil {
		return made, fmt.Errorf("fork %s of %s to %s: %w", from, f.Agent, made.Key, err)
	}
	return made, nil
}

// upTo are the events of the fork, and the key of what is forked.
func (a *Archive) upTo(ctx context.Context, f Forking) (Key, []run.Event, error) {
	_, s, err := a.State(ctx, f.Agent, f.SID)
	if err != nil {
		return "", nil, err
	}
	var events []run.Event
	found := f.At == Place{}
	for fact, err := range a.History(ctx, f.Agent, f.SID, 1) {
		if err != nil {
			return "", nil, err
		}
		if f.At.Seq > 0 && (fact.Seq > f.At.Seq || fact.Seq == f.At.Seq && f.At.N > 0 && fact.N > f.At.N) {
			break
		}
		found = found || fact.Seq == f.At.Seq && (f.At.N == 0 || f.At.N == fact.N)
		events = append(events, fact.Event)
	}
	if !found {
		return "", nil, fmt.Errorf("session %s of %s: %w", f.SID, f.Agent, ErrNoPlace)
	}
	return s.Key, settled(events), nil
}

// settled is events as the log of a session at rest in which nothing waits and
// nothing has an address.
func settled(events []run.Event) []run.Event {
	state := fold(events)
	waits := func(e run.Event) bool {
		return e.Type == run.InputAdded && e.Input != nil &&
			slices.ContainsFunc(state.Waiting, func(in run.Input) bool { return in.ID == e.Input.ID })
	}
	operated := func(e run.Event) bool { return e.Type == run.OperatorJoined || e.Type == run.OperatorLeft }
	events = slices.DeleteFunc(events, func(e run.Event) bool { return waits(e) || operated(e) })
	if state = fold(events); state.Run != nil {
		at := events[len(events)-1].At
		_, effects := run.Step(state, run.Signal{Kind: run.Abort, At: at, By: "fork", Reason: "forked here"}, run.Limits{})
		for _, e := range effects {
			if e.Kind == run.Commit {
				events = append(events, e.Events...)
			}
		}
	}
	for i := range events {
		anonymous(&events[i])
	}
	return events
}

func fold(events []run.Event) run.State {
	state := run.State{Phase: run.Idle}
	for _, e := range events {
		state = run.Fold(state, e)
	}
	return state
}

// anonymous takes the address off a reply and gives inputs ids of the fork.
func anonymous(e *run.Event) {
	if e.Reply != nil {
		reply := *e.Reply
		reply.Subject = ""
		e.Reply = &reply
	}
	if e.Input != nil {
		in := *e.Input
		in.ID += forked
		e.Input = &in
	}
	e.Inputs = slices.Clone(e.Inputs)
	for i := range e.Inputs {
		e.Inputs[i].ID += forked
	}
}

// forked is what the ids of a fork's inputs end in.
const forked = "~fork"

// Copied is how many of the facts of a log, from its first, a Fork has copied: they are of another
// session, and so are their runs. A commit of a run of its own names that.
func Copied(facts []Fact) int {
	n, ran := 0, false
	for ; n < len(facts) && facts[n].Seq == facts[0].Seq && facts[n].Of == ""; n++ {
		ran = ran || facts[n].Event.Type == run.Started
	}
	if !ran {
		return 0
	}
	return n
}

// begin writes the first commit of a session.
func (a *Archive) begin(ctx context.Context, agent string, key Key, events []run.Event) (seq uint64, err error) {
	c := Commit{V: version, Key: key, Events: events}
	data, err := json.Marshal(c)
	if err == nil && len(data) > a.store.limit() {
		if c.Object, err = a.store.putFile(ctx, events); err != nil {
			return 0, err
		}
		c.Events = nil
		data, err = json.Marshal(c)
	}
	if err != nil {
		return 0, err
	}
	msg := nats.NewMsg(Subject(agent, SID(agent, key)))
	msg.Data = data
	msg.Header.Set(expectedLastSubjectSequence, "0")
	ack, err := a.js.PublishMsg(ctx, msg)
	if bus.Refused(err) {
		return 0, ErrTaken
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
