package run

import (
	"encoding/json"
	"slices"
	"time"

	"agenthost/llm"
)

// A Phase says what a session is doing.
type Phase string

// The phases. A session rests in Idle, Settled or Faulted; in Suspended it waits for
// a person or another agent; in the others a run is at work.
const (
	Idle        Phase = "idle"
	Invoking    Phase = "invoking"
	Streaming   Phase = "streaming"
	Dispatching Phase = "dispatching"
	Compacting  Phase = "compacting"
	InSuspense  Phase = "suspended"
	Settled     Phase = "settled"
	Faulted     Phase = "faulted"
)

// State is a session as its log tells it: the fold of its events. What is not
// in the log (text still streaming, events not yet committed) is not written
// with it, so a replayed log yields the live state byte for byte. The zero
// State is a session in which nothing has happened.
//
// An old State may be kept and read for as long as one likes, but only the
// newest may be stepped or folded: the messages of all share one array, as
// with append. To try two ways from one point, fold the log twice.
type State struct {
	Phase    Phase         `json:"phase"`
	Messages []llm.Message `json:"messages,omitempty"` // what the model sees, oldest first
	Run      *Run          `json:"run,omitempty"`      // the unfinished run
	Waiting  []Input       `json:"waiting,omitempty"`  // accepted into the log, not yet in a run
	Gauge    Gauge         `json:"gauge,omitzero"`
	Spent    int64         `json:"spent,omitempty"`    // on models, in micro-cents, the unfinished run included
	Operator *Operator     `json:"operator,omitempty"` // who has taken the chat over
	Written  []string      `json:"written,omitempty"`  // web addresses that persons wrote, in the form of canonical

	pending []Event      // emitted by Step, not yet committed
	partial *llm.Builder // the answer as far as it has streamed
	mine    bool         // Run is of this very step: no older State has it
	cut     int          // messages the compaction under way takes in
	held    llm.Contents // of the messages that are counted, the oldest
	weight  int          // their estimated tokens
	aged    aged         // the messages that are sent short
	room    int          // tokens for the messages of a call that was too long before; 0: it was not
}

// A Run is the unfinished run of a session.
type Run struct {
	ID          string        `json:"id"`
	Trigger     Trigger       `json:"trigger"`
	Inputs      []Input       `json:"inputs"`
	Joined      int           `json:"joined,omitempty"` // how many of Inputs, the last of them, came during the run
	Attempt     int           `json:"attempt,omitempty"`
	Handed      int           `json:"handed,omitempty"` // as in its last run.started
	Started     time.Time     `json:"started"`
	ModelCalls  int           `json:"model_calls,omitempty"`
	Corrections int           `json:"corrections,omitempty"` // answers in a row whose calls could not be run as asked
	Replies     int           `json:"replies,omitempty"`
	Calls       []Call        `json:"calls,omitempty"`     // of the last answer, in the model's order, until all have settled
	Joining     []llm.Message `json:"joining,omitempty"`   // came during the run, join at the next model call
	Spent       int64         `json:"spent,omitempty"`     // on models, in micro-cents
	Lost        int64         `json:"lost,omitempty"`      // of Spent, as in run.started
	Overdraft   bool          `json:"overdraft,omitempty"` // a person let it go beyond its budget
	// Hold is what the next call of the model waits for: an approval. It is no
	// call of a tool and has no result.
	Hold *Call `json:"hold,omitempty"`
}

// Begun are the inputs that the run began with.
func (r *Run) Begun() []Input { return r.Inputs[:max(0, len(r.Inputs)-r.Joined)] }

// A Call is a tool call of the run's last answer.
type Call struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Args          json.RawMessage `json:"args,omitempty"`
	Rerun         string          `json:"rerun,omitempty"`
	Approved      bool            `json:"approved,omitempty"` // by a person
	Asked         string          `json:"asked,omitempty"`    // approval, question or delegate: what it waits for
	Prompt        string          `json:"prompt,omitempty"`
	Options       []string        `json:"options,omitempty"`
	Default       string          `json:"default,omitempty"` // as in the event that asked
	Deadline      time.Time       `json:"deadline,omitzero"`
	AskedAt       time.Time       `json:"asked_at,omitzero"`
	Number        int             `json:"number,omitempty"`  // as in the event that asked
	Newest        uint64          `json:"newest,omitempty"`  // the same
	Changed       bool            `json:"changed,omitempty"` // Args are those of the person who approved it
	To            string          `json:"to,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	Wait          string          `json:"wait,omitempty"` // as in the event that asked
	Context       json.RawMessage `json:"context,omitempty"`
	Done          bool            `json:"done,omitempty"`
	OK            bool            `json:"ok,omitempty"`
	Result        string          `json:"result,omitempty"`
	Source        string          `json:"source,omitempty"`

	running bool
}

// copied is c as it is now, for an effect.
func (c *Call) copied() *Call {
	now := *c
	return &now
}

// MarshalJSON writes what the log tells.
func (s State) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// told is p as a log tells it. A stream or a compaction under way is not in it:
// there the model is still to be called.
func (p Phase) told() Phase {
	switch p {
	case "":
		return Idle
	case Streaming, Compacting:
		return Invoking
	default:
		return p
	}
}

// Pending is the number of events that no Commit has carried out yet.
func (s State) Pending() int { return len(s.pending) }

// Partial is the answer as far as it has streamed, empty when none does. It
// reads what the next Step writes: not to be called beside it.
func (s State) Partial() llm.Message {
	if s.partial == nil {
		return llm.Message{}
	}
	return s.partial.Message()
}

// edit makes the run this step's own, so that who holds an older State does not
// see it change.
func (s *State) edit() *Run {
	if !s.mine {
		r := *s.Run
		r.Calls = slices.Clone(r.Calls)
		s.Run, s.mine = &r, true
	}
	return s.Run
}

// tokens estimates what the messages cost the model to read.
func (s *State) tokens() int {
	s.count()
	return s.weight
}

// count looks at the messages that are new. A conversation is not looked through
// again for every call: in a busy host none of it is near the processor.
func (s *State) count() {
	for s.held.Messages < len(s.Messages) {
		m := &s.Messages[s.held.Messages]
		s.weight += estimate(m)
		s.held.Add(m)
	}
}

// recount forgets what was counted: the messages are others.
func (s *State) recount() { s.held, s.weight, s.aged = llm.Contents{}, 0, aged{} }

// Contents is what the messages hold, as far as they are counted: for a call of
// the model that Step asks for, all.
func (s State) Contents() llm.Contents { return s.held }

// call finds the call with that id among those not yet settled.
func (r *Run) call(id string) *Call {
	for i := range r.Calls {
		if c := &r.Calls[i]; c.ID == id && !c.Done {
			return c
		}
	}
	return nil
}

// settled says whether every call has its result.
func (r *Run) settled() bool {
	return !slices.ContainsFunc(r.Calls, func(c Call) bool { return !c.Done })
}

// Open are the calls that wait for an answer, the hold among them.
func (r *Run) Open() []Call {
	var open []Call
	for _, c := range r.Calls {
		if !c.Done && c.Asked != "" {
			open = append(open, c)
		}
	}
	if r.Hold != nil {
		open = append(open, *r.Hold)
	}
	return open
}

// Unbegun reports whether calls have yet to begin: not all of an answer run at once.
func (r *Run) Unbegun() bool {
	return slices.ContainsFunc(r.Calls, func(c Call) bool { return c.ready() && !c.running })
}

// ready is a call that nothing keeps from running, or that runs.
func (c Call) ready() bool { return !c.Done && c.Asked == "" }
