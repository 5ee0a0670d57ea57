package why

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// lookEvery is how often a long search says how far it is.
const lookEvery = 1000

// lookIntoSessions finds the sessions that have the id, and adds what they did with
// it.
func (s *search) lookIntoSessions(ctx context.Context) error {
	found := map[[2]string]bool{}
	n := 0
	for rec, err := range s.reader.Tail(ctx, bus.SessionsStream, "agent.session.>", 1) {
		if err != nil {
			return absent(err)
		}
		if n++; n%lookEvery == 0 {
			s.looked(n)
		}
		if agent, sid, ok := sessionOf(rec.Subject); ok && s.mayMention(rec) {
			found[[2]string{agent, sid}] = true
		}
	}
	for at := range found {
		if err := s.tell(ctx, at[0], at[1]); err != nil {
			return err
		}
	}
	return nil
}

func sessionOf(subject string) (agent, sid string, ok bool) {
	rest, ok := strings.CutPrefix(subject, "agent.session.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

// mayMention reports whether a commit has the id somewhere: in its bytes, or in a
// file that it names. A wait id ends with what the log has of it.
func (s *search) mayMention(rec records.Record) bool {
	for _, id := range s.names() {
		quoted, _ := json.Marshal(id) // a string always marshals
		if bytes.Contains(rec.Data, quoted) {
			s.mentioned = s.mentioned || id == s.id
			return true
		}
	}
	return bytes.Contains(rec.Data, []byte(`"object":"`)) && !bytes.Contains(rec.Data, []byte(`"events":`))
}

// names are what a log calls the id: of a reply <run>.<n> the run, of what waits
// <agent>.<sid>.<token> the token.
func (s *search) names() []string {
	names := []string{s.id}
	if i := strings.LastIndexByte(s.id, '.'); i > 0 {
		names = append(names, s.id[:i], s.id[i+1:])
	}
	return names
}

// A telling is the events of a session, of which those of some runs are told.
type telling struct {
	agent, key string
	facts      []session.Fact
	runs       map[string]bool
	owners     owners
}

func (s *search) tell(ctx context.Context, agent, sid string) error {
	t := &telling{agent: agent, runs: map[string]bool{}}
	for fact, err := range s.archive.History(ctx, agent, sid, 1) {
		if errors.Is(err, session.ErrNoSession) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		t.facts = append(t.facts, fact)
	}
	t.facts = t.facts[session.Copied(t.facts):]
	if _, sum, err := s.archive.State(ctx, agent, sid); err == nil {
		t.key = string(sum.Key)
	}
	for _, fact := range t.facts {
		s.recognise(t, fact)
	}
	if len(t.runs) > 0 {
		var err error
		if t.owners, err = s.ownersOf(ctx, agent); err != nil {
			return err
		}
	}
	for _, fact := range t.facts {
		if err := s.tellFact(ctx, t, fact); err != nil {
			return err
		}
	}
	if len(t.runs) > 0 {
		s.judge(t)
	}
	return nil
}

// recognise finds out whether an event is of the id, and of which run.
func (s *search) recognise(t *telling, f session.Fact) {
	e := f.Event
	of := f.Of
	if e.Run != "" {
		of = e.Run
	}
	kind := ""
	switch {
	case e.Run == s.id || f.Of == s.id:
		kind = Run
	case e.Reply != nil && e.Reply.ID == s.id:
		kind = Outbound
	case e.Call != "" && e.Call == s.id, e.Wait != "" && strings.HasSuffix(s.id, "."+e.Wait):
		kind = Call
	case e.Input != nil && s.isOf(e.Input):
		kind = Inbound
	}
	for _, in := range e.Inputs {
		if s.isOf(&in) {
			kind = Inbound
		}
	}
	if kind == "" {
		return
	}
	if s.way.Kind == "" {
		s.way.Kind = kind
	}
	if of != "" {
		t.runs[of] = true
	} else if e.Input != nil { // it waits in the log, or never got a run
		t.runs[""] = true
	}
}

// isOf reports whether the id is that of an input, as its sender or the log has it.
func (s *search) isOf(in *run.Input) bool { return in.ID == s.id || in.OwnID() == s.id }

// judge says how it stands with the id in a session.
func (s *search) judge(t *telling) {
	state, queued := Waiting, run.Event{}
	for _, f := range t.facts {
		e := f.Event
		mine := t.runs[f.Of] && f.Of != "" || e.Run != "" && t.runs[e.Run]
		if e.Type == run.InputAdded && s.isOf(e.Input) {
			queued = e
		}
		switch {
		case e.Ends() && e.Input != nil && s.isOf(e.Input):
			state = Answered
		case e.Type == run.OperatorSaid && s.operatorSaid(e):
			state = Answered
		case !mine:
		case e.Type == run.Started:
			state, queued = Running, run.Event{}
			if n := len(e.Inputs); s.way.Kind == Inbound && n > 1 && !s.isOf(&e.Inputs[n-1]) {
				state = Merged
			}
		case e.Type == run.Suspended:
			if state != Merged {
				state = Waiting
			}
		case e.Type == run.ApprovalAnswered, e.Type == run.QuestionAnswered, e.Type == run.ToolFinished:
			if state == Waiting {
				state = Running
			}
		case e.Type == run.Finished:
			if state != Merged {
				state = Answered
			}
		}
	}
	if state == Waiting && queued.Input != nil {
		s.turns = append(s.turns, turn{t.agent, queued.Input.Subject, queued.At})
	}
	s.is(s.way.Kind, state)
}

// absent is err, or nil for a stream that does not exist yet.
func absent(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}
