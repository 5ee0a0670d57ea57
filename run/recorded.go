package run

import (
	"slices"

	"agenthost/llm"
)

// What a replay reads of the events to come: which signal has made them.

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
