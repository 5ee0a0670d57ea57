package answers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/tools"
)

// Answer reads it as an answer to a call of the run that waits. ok is false when
// it is none.
func (c Reader) Answer(it *message.Item, r *run.Run) (sig run.Signal, ok bool) {
	if sig, ok = c.Meant(it, r); !ok || c.RefusalOf(it, r, sig) != nil {
		return run.Signal{}, false
	}
	sig.At, sig.Run = time.Now(), r.ID
	sig.Input = it.Input.Brief()
	return sig, true
}

// Meant is what it says to r, if it says anything.
func (c Reader) Meant(it *message.Item, r *run.Run) (sig run.Signal, ok bool) {
	switch {
	case it.Origin.Route != nil:
		return c.routedAnswer(it, r)
	case it.Stops():
		return run.Signal{Kind: run.Abort, By: message.Sender(it.Origin.Inbound), Door: it.Origin.Subject}, true
	}
	open := c.open(r)
	if len(open) == 0 { // as mostly
		return run.Signal{}, false
	}
	in := it.Origin.Inbound
	if c.IsOrder(in) || it.Changes() {
		return sig, false
	}
	sig.By, sig.Door = message.Sender(in), it.Origin.Subject
	if in.Answers != "" {
		call, found := c.WaitingCall(r, in.Answers)
		return Said(c.Book(it), sig, call, Words(in, call.Options), found && call.Asked != run.ForDelegate && !TooLate(call, it))
	}
	own := c.askedBefore(it, open)
	if len(own) == 0 {
		return sig, false
	}
	call, answer, ok := ask.Pick(c.Book(it), ask.InOrder(own, c.OpenHere(it), c.ofOthers(it)), in.Said(), in.Option() > 0)
	ok = ok && slices.ContainsFunc(own, func(one run.Call) bool { return one.ID == call.ID })
	sig.Kind, sig.Call, sig.Answer, sig.Scope = run.Answered, call.ID, answer.Answer, answer.Scope
	return sig, ok
}

// Words are what in says to a question with options: the option that was pressed, where it
// names the question, else its text.
func Words(in *bus.Inbound, options []string) string {
	if n := in.Option(); in.Answers != "" && n > 0 && n <= len(options) {
		return options[n-1]
	}
	return in.Said()
}

// askedBefore are the calls that wait for a person, and did when it came.
func (c Reader) askedBefore(it *message.Item, open []run.Call) (people []run.Call) {
	for _, call := range open {
		if call.Asked != run.ForDelegate && Before(call, it) && !TooLate(call, it) {
			people = append(people, call)
		}
	}
	return people
}

// OpenWith are questions of tools at work in the chat of it, with all else that is open there
// and had asked when it came: the oldest first. left is the run at work.
func (c Reader) OpenWith(live []run.Call, it *message.Item, left *run.Run) []run.Call {
	own := live
	if left != nil {
		own = append(own, c.askedBefore(it, c.open(left))...)
	}
	slices.SortStableFunc(own, func(a, b run.Call) int { return cmp.Compare(ask.Number(a), ask.Number(b)) })
	return ask.InOrder(own, c.OpenHere(it), c.ofOthers(it))
}

// Before reports whether a call had asked when it came.
func Before(call run.Call, it *message.Item) bool {
	return it.Origin.Guest() || it.Input.Seq > call.Newest
}

// TooLate reports whether it came after the deadline of a call that waits for a person: that
// the deadline has yet to come to the run gives it no more time.
func TooLate(call run.Call, it *message.Item) bool {
	answered := it.Answered()
	return call.Asked != run.ForDelegate && !answered.IsZero() && !ask.InTime(call, answered)
}

// open are the calls of r that wait, each with the number that it has by now.
func (c Reader) open(r *run.Run) []run.Call {
	calls := r.Open()
	for i := range calls {
		calls[i].Number = c.NumberOf(c.WaitID(r.ID, calls[i]), calls[i])
	}
	return calls
}

// NumberOf is the number of a call that waits under id: the first of several has it since the
// next was put.
func (c Reader) NumberOf(id string, call run.Call) int {
	if call.Number > 0 || call.Asked == run.ForDelegate {
		return call.Number
	}
	return c.Agent.Parts.Asks.Open.Number(id)
}

// WaitingCall finds the call that waits under a wait id, or under its own.
func (c Reader) WaitingCall(r *run.Run, id string) (run.Call, bool) {
	calls := c.open(r)
	i := slices.IndexFunc(calls, func(call run.Call) bool {
		return call.ID == id || c.WaitID(r.ID, call) == id
	})
	if i < 0 {
		return run.Call{}, false
	}
	return calls[i], true
}

// routedAnswer reads a result that a host has sent: of the agent that was asked, of a
// person by another door, or of the clock. What an agent says is never the answer of a
// person: a program may choose where it goes.
func (c Reader) routedAnswer(it *message.Item, r *run.Run) (sig run.Signal, ok bool) {
	route := it.Origin.Route
	if route.Kind != bus.RouteResult || !it.Signed {
		return sig, false
	}
	sig.By, sig.Door = route.From, route.Door
	if strings.HasSuffix(route.CorrelationID, ask.StopToken) {
		sig.Kind, sig.Reason = run.Abort, route.Text
		return sig, it.ThroughDoor()
	}
	if OperatorOrder(it) == ask.TakeOverToken {
		return c.takenOver(sig, r)
	}
	call, found := c.WaitingCall(r, route.CorrelationID)
	if !found {
		return sig, false
	}
	switch {
	case route.From == ask.FromDeadline && route.Text == "":
		return c.Overdue(sig, call), true
	case route.From == ask.FromDeadline:
		sig, ok = Said(c.Book(it), sig, call, route.Text, true)
		return c.byDefault(sig, call), ok
	case TooLate(call, it):
		it.Unfit = ask.ErrTooLate
		return sig, false
	case call.Asked != run.ForDelegate:
		sig, ok = Said(c.Book(it), sig, call, strings.TrimSpace(route.Text+" "+route.Scope), it.ThroughDoor())
		sig.Args = route.Args
		return sig, ok && c.mayRun(it, call, sig.Args)
	case route.From != call.To:
		return sig, false
	case route.Error != nil:
		sig.Kind, sig.Call, sig.Source = run.ToolSettled, call.ID, run.FromDelegate
		sig.Result = cmp.Or(route.Error.Message, route.Error.Code)
	default:
		sig.Kind, sig.Call, sig.Answer = run.Answered, call.ID, message.WithMedia(route)
	}
	return sig, true
}

// NoResult is the result of a task that brings none in its time. The agent that works on
// it says the same, so that it is told whichever of the two is first.
const NoResult = "no result came in time"

// Overdue is what becomes of a call without an answer in time.
func (c Reader) Overdue(sig run.Signal, call run.Call) run.Signal {
	sig.Call, sig.Late = call.ID, true
	switch call.Asked {
	case run.ForApproval:
		sig.Kind, sig.Answer, sig.Result = run.Answered, run.Deny, "not approved: no answer came before the deadline, so it was not run"
		sig.Notice = c.Texts().Say("approval_expired", "what", call.Prompt)
		if call.Name == run.Budget {
			sig.Notice = c.Texts().Say("budget_expired")
		}
	case run.ForDelegate:
		sig.Kind, sig.Source, sig.Result = run.ToolSettled, run.FromDelegate, NoResult
	default:
		sig.Kind, sig.Source, sig.Result = run.ToolSettled, run.FromAnswer, "no answer came before the deadline"
		sig.Notice = c.Texts().Say("question_expired", "question", call.Prompt)
	}
	return sig
}

// byDefault is Overdue for a question that has an answer for that case.
func (c Reader) byDefault(sig run.Signal, call run.Call) run.Signal {
	sig.Late = true
	sig.Result = sig.Answer + " (the default: no answer came before the deadline)"
	sig.Notice = c.Texts().Say("question_expired_default", "question", call.Prompt, "answer", sig.Answer)
	return sig
}

// mayRun reports whether args may run in place of what an approval shows. It answers
// with the reason when not.
func (c Reader) mayRun(it *message.Item, call run.Call, args json.RawMessage) bool {
	if len(args) == 0 {
		return true
	}
	p := c.Agent.Now()
	tool, ok := p.Tools.Find(call.Name)
	switch err := p.Tools.Check(tool, args); {
	case call.Asked != run.ForApproval || call.Name == run.Budget:
		it.Unfit = errors.New("only the approval of a tool's call takes other arguments")
	case !ok:
		it.Unfit = fmt.Errorf("the tool %s is unavailable right now, so its arguments cannot be checked; try again later", call.Name)
	case err != nil:
		it.Unfit = fmt.Errorf("the arguments do not fit the tool %s: %w", call.Name, err)
	case p.Tools.Policy.Decide(tool, args, nil).Verdict == tools.Deny:
		it.Unfit = fmt.Errorf("the permissions of %s deny %s with these arguments", c.Agent.ID, call.Name)
	default:
		return true
	}
	return false
}

// Said reads what a person said as the answer to a call. A number in it must be that
// of the call.
func Said(book texts.Book, sig run.Signal, call run.Call, text string, found bool) (run.Signal, bool) {
	if !found {
		return sig, false
	}
	_, answer, ok := ask.Pick(book, []run.Call{call}, text, false)
	sig.Kind, sig.Call, sig.Answer, sig.Scope = run.Answered, call.ID, answer.Answer, answer.Scope
	return sig, ok
}
