package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"agenthost/llm"
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

// signal is what made the events from e on; not ok: a host took the run up.
func (r *replayer) signal(e *Event) (sig Signal, ok bool) {
	if e.For == Budget && e.Type == ApprovalAsked {
		return r.answered(), true
	}
	sig = Signal{At: e.At, Call: e.Call, By: e.By, Door: e.Door, Input: e.Input, Scope: e.Scope, Answer: e.Answer}
	switch e.Type {
	case Started:
		return r.submitted(e), true
	case InputAdded:
		return r.joined(e), true
	case ToolFinished:
		return r.settled(sig, e)
	case ApprovalAsked, QuestionAsked, Delegated:
		sig.Kind = ToolSettled
		sig.Wait = &Wait{
			For: waitsFor[e.Type], Prompt: e.Prompt, Options: e.Options, Default: e.Default, Deadline: e.Deadline,
			To: e.To, CorrelationID: e.CorrelationID, ID: e.Wait, Context: e.Context, Args: e.Args,
			Number: e.Number, Newest: e.Newest,
		}
		return sig, true
	case ApprovalAnswered, QuestionAnswered:
		sig.Kind, sig.Args = Answered, e.Args
		if next := r.at(1); next != nil && next.Type == ToolFinished && next.Call == e.Call {
			sig.Result, sig.Reversed = next.Result, next.OK != (e.Type == QuestionAnswered)
			r.notified(&sig, 2)
		} else if e.Type == ApprovalAnswered {
			r.notified(&sig, 1)
		}
		return sig, true
	case Suspended:
		return sig, false
	case MessageAdded:
		if e.Message.Role == llm.User { // it joined the run, which then ended or lost its host
			return r.ended(0, nil), r.ends()
		}
		return r.answered(), true
	default:
		return r.answered(), true
	}
}

var waitsFor = map[EventType]string{ApprovalAsked: ForApproval, QuestionAsked: ForQuestion, Delegated: ForDelegate}

func (r *replayer) submitted(e *Event) Signal {
	sig := Signal{Kind: Submit, At: e.At, Run: e.Run, Trigger: e.Trigger, Inputs: e.Inputs, Attempt: e.Attempt, Handed: e.Handed, Lost: e.Lost}
	if next := r.at(1); next != nil && next.Type == MessageAdded {
		sig.Message = next.Message
	}
	return sig
}

// at is the event n after the next, nil past the end.
func (r *replayer) at(n int) *Event {
	if r.next+n >= len(r.log) {
		return nil
	}
	return &r.log[r.next+n]
}

// joined is what made a message join the run; its last input has the message.
func (r *replayer) joined(e *Event) Signal {
	sig := Signal{Kind: Submit, At: e.At, Join: true}
	for n := 0; sig.Message == nil; n++ {
		e := r.at(n)
		if e == nil || e.Type != InputAdded || e.Input == nil {
			break
		}
		sig.Inputs, sig.Message = append(sig.Inputs, *e.Input), e.Message
	}
	return sig
}

// notified notes that no answer came in time, or one without effect, where the event n after
// the next says so in the chat.
func (r *replayer) notified(sig *Signal, n int) {
	if e := r.at(n); e != nil && e.Type == Replied && e.Reply.Kind == KindNotice && !e.Reply.Final {
		sig.Notice = "told" // its words are in the envelope
	}
}

func (r *replayer) settled(sig Signal, e *Event) (Signal, bool) {
	switch {
	case e.Source == FromRecovery:
		return sig, false
	case e.Source == FromEnd:
		return r.ended(0, nil), true
	case e.Source == FromDelegate && e.OK:
		sig.Kind, sig.Answer = Answered, e.Result
	default:
		sig.Kind, sig.OK, sig.Result, sig.Source = ToolSettled, e.OK, e.Result, e.Source
		r.notified(&sig, 1)
	}
	return sig, true
}

// answered is how a call of the model ended, or the whole run.
func (r *replayer) answered() Signal {
	n := 0
	for e := r.at(n); e != nil && e.Type == ModelCalled; e = r.at(n) {
		n++
	}
	e := r.at(n)
	switch {
	case e != nil && e.Type == ApprovalAsked && e.For == Budget:
		wait := &Wait{For: ForApproval, Prompt: e.Prompt, Deadline: e.Deadline, ID: e.Wait, Number: e.Number, Newest: e.Newest}
		return Signal{Kind: Held, At: e.At, Called: r.called(n), logged: true, Wait: wait}
	case e != nil && e.Type == Compacted && e.Before == 0 && e.Summary == "": // a fresh start: nothing is summed up
		sig := Signal{Kind: StreamEnd, At: e.At, Called: r.called(n), logged: true, Forget: true}
		if said := r.at(n + 1); said != nil && said.Type == MessageAdded {
			sig.Message = said.Message
		}
		return sig
	case e != nil && e.Type == Compacted:
		r.live.Phase, r.live.cut = Compacting, e.Through // as the limits of then had it
		return Signal{Kind: CompactEnd, At: e.At, Called: r.called(n), logged: true, Summary: e.Summary}
	case e != nil && e.Type == MessageAdded && e.Message != nil && e.Message.Role == llm.Assistant:
		if e.Message.Partial {
			return r.ended(n, e.Message)
		}
		return Signal{Kind: StreamEnd, At: e.At, Called: r.called(n), logged: true, Message: e.Message, Offers: r.offered(n + 1)}
	}
	return r.ended(n, nil)
}

// offered are the tools that the model had been offered, as far as the log shows it: nil, or all
// but those whose calls, n events after the next, have their results with the request.
func (r *replayer) offered(n int) func(tool string) bool {
	names := map[string]string{} // of the calls
	for e := r.at(n); e != nil && e.Type == ToolRequested; e = r.at(n) {
		names[e.Call] = e.Name
		n++
	}
	missing := map[string]bool{}
	for e := r.at(n); e != nil && e.Type == ToolFinished && e.Source == FromCorrection && e.At.Equal(r.at(0).At); e = r.at(n) {
		if name, ok := names[e.Call]; ok && e.Result == NoTool(name) {
			missing[name] = true
		}
		n++
	}
	if len(missing) == 0 {
		return nil
	}
	return func(tool string) bool { return !missing[tool] }
}

// ends reports whether, with what joined the run, nothing but its end comes.
func (r *replayer) ends() bool {
	n := 0
	for e := r.at(n); e != nil && e.Type == MessageAdded; e = r.at(n) {
		n++
	}
	e := r.at(n)
	return e != nil && e.Type == Replied && e.At.Equal(r.at(0).At)
}

func (r *replayer) called(n int) []Event { return r.log[r.next : r.next+n] }

// ended is what ended the run before its time, n calls of the model after the
// next event.
func (r *replayer) ended(n int, said *llm.Message) Signal {
	sig := Signal{Kind: Fault, Called: r.called(n), logged: true, Message: said}
	i := slices.IndexFunc(r.log[r.next:], func(e Event) bool { return e.Type == Finished })
	if i < 0 {
		return sig
	}
	e := r.at(i)
	sig.At, sig.Error = e.At, e.Error
	for _, before := range r.log[r.next : r.next+i] {
		if before.Type == OperatorJoined {
			sig.TakenOver, sig.Door = before.Address, before.Door
		}
	}
	if e.Outcome == OutcomeStopped && e.Error != nil {
		sig.Kind, sig.Reason, sig.By, sig.Door, sig.Input = Abort, e.Error.Message, e.By, e.Door, e.Input
	}
	return sig
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
