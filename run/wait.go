package run

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"agenthost/llm"
)

// ask lets a call wait for a person or another agent. The question is in the log
// before it is sent.
func (m *machine) ask(c Call, w Wait) {
	e := Event{
		Call: c.ID, Name: c.Name, Prompt: w.Prompt, Options: slices.Clone(w.Options),
		Default: w.Default, Deadline: w.Deadline, To: w.To, CorrelationID: w.CorrelationID, Context: w.Context, Wait: w.ID,
		Number: w.Number, Newest: w.Newest,
	}
	switch w.For {
	case ForApproval:
		e.Type, e.Options = ApprovalAsked, []string{Approve, Deny}
	case ForQuestion:
		e.Type = QuestionAsked
	case ForDelegate:
		e.Type = Delegated
	default:
		m.ignore("nothing to wait for")
		return
	}
	if c.Asked != "" {
		m.ignore("the call waits already")
		return
	}
	if left := written(w.Args); !bytes.Equal(left, c.Args) {
		e.Args = left
	}
	m.emit(&e)
	if w.For != ForDelegate {
		m.reply(&Reply{Kind: w.For, Text: cmp.Or(w.Said, w.Prompt), Call: c.ID, Wait: w.ID, Options: e.Options})
	}
	m.proceed(true)
}

// asked is the call that an event has wait for an answer, nil for any other event.
func (s *State) asked(e *Event) *Call {
	switch e.Type {
	case ApprovalAsked, QuestionAsked, Delegated:
		if e.For == Budget {
			return s.Run.Hold
		}
		return s.Run.call(e.Call)
	}
	return nil
}

// hold lets the next call of the model wait for an approval. What the model
// was about to do, say a compaction, is decided again after it.
func (m *machine) hold(sig *Signal) {
	if sig.Wait == nil || sig.Wait.For != ForApproval {
		m.ignore("nothing to wait for")
		return
	}
	m.s.partial, m.s.cut = nil, 0
	m.facts(sig, 0)
	e := Event{
		Type: ApprovalAsked, For: Budget, Call: Budget + ":" + strconv.Itoa(m.s.Run.ModelCalls+1), Name: Budget,
		Prompt: sig.Wait.Prompt, Options: []string{Approve, Deny}, Deadline: sig.Wait.Deadline,
		Wait: sig.Wait.ID, Number: sig.Wait.Number, Newest: sig.Wait.Newest,
	}
	m.emit(&e)
	m.reply(&Reply{Kind: KindApproval, Text: cmp.Or(sig.Wait.Said, e.Prompt), Call: e.Call, Wait: e.Wait, Options: e.Options})
	m.emit(&Event{Type: Suspended, Waiting: []string{e.Call}})
	m.commit()
}

// release takes the answer to a hold.
func (m *machine) release(sig *Signal) {
	m.emit(&Event{
		Type: ApprovalAnswered, For: Budget, Call: sig.Call, Name: Budget,
		Answer: sig.Answer, By: sig.By, Door: sig.Door, Scope: sig.Scope, Input: sig.Input,
	})
	if sig.Answer == Deny {
		m.fail(&Error{Code: llm.CodeBudgetExceeded, Message: sig.Notice})
		return
	}
	m.commit()
	m.think()
}

// hear takes the answer to a call that waits; the first one counts. It is
// written at once, since its sender is told that it was taken.
func (m *machine) hear(sig *Signal) {
	c, held := m.s.Run.call(sig.Call), m.s.Run.Hold
	if held != nil && held.ID == sig.Call {
		c = held
	}
	switch {
	case c == nil || c.Asked == "":
		m.ignore("nothing waits for this answer")
		return
	case c.Asked == ForApproval && sig.Answer != Approve && sig.Answer != Deny:
		m.ignore("an approval is answered with approve or deny")
		return
	case c == held:
		m.release(sig)
		return
	}
	e := Event{Call: c.ID, Name: c.Name, Answer: sig.Answer, By: sig.By, Door: sig.Door, Scope: sig.Scope, Input: sig.Input}
	asked := *c
	switch c.Asked {
	case ForApproval:
		e.Type = ApprovalAnswered
		if sig.Answer == Approve {
			e.Args = sig.Args
		}
		m.emit(&e)
		if sig.Answer == Deny {
			m.finish(*c, c.outcome(sig, Event{Source: FromDenial}))
		}
	case ForQuestion:
		e.Type = QuestionAnswered
		m.emit(&e)
		m.finish(*c, c.outcome(sig, Event{Source: FromAnswer}))
	default:
		m.finish(*c, c.outcome(sig, Event{Source: FromDelegate, By: sig.By, Input: sig.Input}))
	}
	m.notify(&asked, sig)
	m.proceed(true)
}

// Outcome is the result that sig brings to a call which waits. settled is false when it brings
// none: an approval lets the call run.
func (c *Call) Outcome(sig *Signal) (ok bool, result string, settled bool) {
	switch {
	case sig.Kind == ToolSettled:
		return sig.OK, sig.Result, sig.Wait == nil
	case sig.Kind != Answered:
		return false, "", false
	case c.Asked == ForApproval:
		return sig.Reversed, cmp.Or(sig.Result, "denied"), sig.Answer == Deny
	case c.Asked == ForQuestion:
		return !sig.Reversed, cmp.Or(sig.Result, sig.Answer), true
	default:
		return true, sig.Answer, true
	}
}

// outcome is Outcome in the event that settles the call.
func (c *Call) outcome(sig *Signal, e Event) *Event {
	e.OK, e.Result, _ = c.Outcome(sig)
	return &e
}

// Settle has the signal, which brings the result of c, bring another one. It takes the place of
// what was answered as well, so that the log does not have that.
func (sig *Signal) Settle(c *Call, ok bool, result string) {
	was, _, _ := c.Outcome(sig)
	switch {
	case sig.Kind == ToolSettled:
		sig.OK, sig.Result = ok, result
	case c.Asked == ForDelegate && ok:
		sig.Answer = result
	case c.Asked == ForDelegate:
		sig.Kind, sig.Source, sig.Answer, sig.Result = ToolSettled, FromDelegate, "", result
	default:
		sig.Result, sig.Reversed = result, sig.Reversed != (ok != was)
		if c.Asked == ForQuestion {
			sig.Answer = result
		}
	}
}

// notify says in the chat what has become of c: it had no answer in time, or one without
// effect.
func (m *machine) notify(c *Call, sig *Signal) {
	if sig.Notice != "" {
		m.reply(&Reply{Kind: KindNotice, Text: sig.Notice, Call: c.ID, Wait: c.Wait})
	}
}
