package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// A DivergenceError is the first place where a machine that was driven again makes
// something else than its log says. An Event that is nil was not made, or is
// not in the log.
type DivergenceError struct {
	Index     int // of the event in the log
	Got, Want *Event
}

func (d *DivergenceError) Error() string {
	return fmt.Sprintf("event %d: the machine makes %s, the log has %s", d.Index, shownEvent(d.Got), shownEvent(d.Want))
}

func shownEvent(e *Event) string {
	if e == nil {
		return "nothing"
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Replay drives the machine with what a log says came from outside: messages,
// answers of the model, results of tools, words of people. All that the machine
// makes of it, and the state it ends in, must be what the log has, byte for
// byte; the first difference is the error, a *DivergenceError. What depends on the
// limits of then (that a conversation was to be compacted, that there were too
// many turns) is taken from the log, and so are the addresses of replies.
func Replay(log []Event) (State, error) {
	r := replayer{log: log}
	for r.next < len(log) {
		if err := r.advance(); err != nil {
			return r.folded, err
		}
	}
	return r.folded, r.same()
}

// A replayer is a replay as far as it has come.
type replayer struct {
	log    []Event
	next   int     // the first event that was not made again
	live   State   // as the machine has it
	folded State   // as the log has it
	owed   []Event // made by the machine, not yet compared
	again  int     // the event before which the run was last taken up again, from 1
	doubt  error   // why that was
}

func (r *replayer) advance() error {
	e := &r.log[r.next]
	switch {
	case r.foreign(e):
		r.live = Fold(r.live, *e)
		r.pass()
		return nil
	case len(r.owed) > 0:
		return r.compare(e)
	default:
		return r.drive(e)
	}
}

// pass goes on to the next event.
func (r *replayer) pass() {
	r.folded = Fold(r.folded, r.log[r.next])
	r.next++
}

// foreign reports whether the machine does not make e: what is put aside for
// later goes to the log past it, and a type may be of a newer program.
func (r *replayer) foreign(e *Event) bool {
	if e.Type == InputAdded {
		return r.live.Run == nil || e.Run != r.live.Run.ID
	}
	if e.Type == OperatorJoined { // during a run it is of the order that ended it
		return r.live.Run == nil && len(r.owed) == 0
	}
	return !slices.Contains(made, e.Type) || e.Type == MessageAdded && e.Message == nil
}

var made = []EventType{
	Started, InputAdded, MessageAdded, ModelCalled, ToolRequested, ToolFinished, ApprovalAsked, ApprovalAnswered,
	QuestionAsked, QuestionAnswered, Delegated, Replied, Compacted, Suspended, Finished,
}

// compare checks the oldest event owed against that of the log. Where they
// differ a host may have died before it had written what is owed.
func (r *replayer) compare(e *Event) error {
	got := addressed(r.owed[0], e)
	if equal(&got, e) {
		r.owed = r.owed[1:]
		r.pass()
		return nil
	}
	if r.again == r.next+1 && r.doubt != nil {
		return r.doubt
	}
	r.doubt = &DivergenceError{Index: r.next, Got: &got, Want: e}
	if uncommitted := len(r.owed) <= r.live.Pending(); r.again == r.next+1 || !r.restarts(e) && !uncommitted {
		return r.doubt
	}
	if err := r.reopen(); err != nil || r.restarts(e) {
		return err
	}
	r.made(Resume(r.live, e.At, r.limits()))
	return nil
}

// restarts reports whether e records that another host resumed the run.
func (r *replayer) restarts(e *Event) bool {
	return e.Type == Started && r.live.Run != nil && r.live.Run.ID == e.Run
}

// reopen forgets all but the log, as with a host that died.
func (r *replayer) reopen() error {
	data, err := json.Marshal(r.folded)
	if err != nil {
		return err
	}
	r.live, r.owed, r.again = State{}, nil, r.next+1
	return json.Unmarshal(data, &r.live)
}

// addressed is e with what the machine leaves to its conductor: what hooks did, and
// where replies go.
func addressed(e Event, as *Event) Event {
	e.Hooks = as.Hooks
	if e.Reply == nil || as.Reply == nil {
		return e
	}
	reply := *e.Reply
	reply.ID, reply.Subject, reply.Envelope = as.Reply.ID, as.Reply.Subject, as.Reply.Envelope
	e.Reply = &reply
	return e
}

func equal(v, w any) bool {
	one, err := json.Marshal(v)
	other, bad := json.Marshal(w)
	return err == nil && bad == nil && bytes.Equal(one, other)
}

// drive gives the machine the signal that e records.
func (r *replayer) drive(e *Event) error {
	if r.restarts(e) && r.again != r.next+1 {
		if err := r.reopen(); err != nil {
			return err
		}
	}
	if sig, ok := r.signal(e); ok {
		r.made(Step(r.live, sig, r.limits()))
	} else {
		r.made(Resume(r.live, e.At, r.limits()))
	}
	if len(r.owed) == 0 {
		return &DivergenceError{Index: r.next, Want: e}
	}
	return nil
}

// made takes down what a step has made.
func (r *replayer) made(s State, effects []Effect) {
	old := r.live.Pending()
	r.live = s
	for _, e := range effects {
		if e.Kind == Commit {
			r.owed = append(r.owed, e.Events...)
		}
	}
	r.owed = append(r.owed, s.pending...)[old:]
}

// limits bound nothing: where the run met one, the log shows how it ended.
func (r *replayer) limits() Limits {
	return Limits{ModelCalls: math.MaxInt, Corrections: math.MaxInt, Tools: math.MaxInt, Safe: func(tool string) bool {
		i := slices.IndexFunc(r.log[r.next:], func(e Event) bool { return e.Type == ToolRequested && e.Name == tool })
		return i >= 0 && r.log[r.next+i].Rerun == SafeRerun
	}}
}

// same compares the states. What the machine has made beyond the end of the log
// was not written yet.
func (r *replayer) same() error {
	ahead := r.folded
	for _, e := range r.owed {
		ahead = Fold(ahead, e)
	}
	got, err := json.Marshal(r.live)
	if err != nil {
		return err
	}
	want, err := json.Marshal(ahead)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the machine ends in another state than the log\n got %s\nwant %s", got, want)
	}
	return nil
}
