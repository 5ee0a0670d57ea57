package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// deliverAnswer brings a result to the conversation that waits for it, which
// its correlation id names.
func (r *Runtime) deliverAnswer(it *item) {
	id := it.origin.route.CorrelationID
	if it.origin.route.From == ask.FromDeadline && !it.origin.due() {
		r.forged(it)
		return
	}
	if !it.signed {
		r.foreign(it)
		return
	}
	agent, sid, ok := ask.SplitID(id)
	if !ok || agent != r.id {
		r.late(it)
		return
	}
	key, err := r.keyOf(it, sid)
	switch {
	case errors.Is(err, records.ErrNotFound):
		r.late(it)
	case err != nil:
		r.log().Warn().Err(err).Str("correlation_id", id).Msg("an answer cannot be brought to its session; it will come again")
		it.delivery.Leave()
	default:
		entry := r.sessions.Acquire(key)
		entry.Value.push(it, entry)
	}
}

// forged drops a deadline that does not come from the clock: any program may
// publish where it came, and only hosts set deadlines.
func (r *Runtime) forged(it *item) {
	route := it.origin.route
	r.log().Warn().Str("subject", it.origin.subject).Str("correlation_id", route.CorrelationID).Str("from", route.From).
		Msg("refuse result: only schedules of hosts send deadlines")
	r.parts.tell(route, errNotTheClock)
	it.delivery.Done()
}

// errForeign tells a program that it is neither an agent nor the operator.
var errForeign = errors.New("a program cannot answer here: results of agents and answers of people come from hosts; for an answer ask the service on agenthost.approve")

// foreign drops a result that no host has sent.
func (r *Runtime) foreign(it *item) {
	route := it.origin.route
	r.log().Warn().Str("subject", it.origin.subject).Str("from", route.From).Str("correlation_id", route.CorrelationID).
		Msg("drop result: it is not signed by a host of the fleet")
	r.parts.tell(route, errForeign)
	it.delivery.Done()
}

// late drops an answer that nothing waits for: whoever asked has given up.
func (r *Runtime) late(it *item) {
	route := it.origin.route
	r.log().Info().Str("from", route.From).Str("correlation_id", route.CorrelationID).Msg("late result dropped")
	if route.From != ask.FromDeadline {
		r.parts.tell(route, ask.ErrNotWaiting)
	}
	if _, _, ok := ask.SplitID(route.CorrelationID); ok {
		r.parts.asks.Delete(route.CorrelationID) // it may have been left behind
	}
	it.delivery.Done()
}

// taken is done with an answer that has come again after it was taken.
func (r *Runtime) taken(it *item) {
	r.parts.tell(it.origin.route, nil)
	it.delivery.Done()
}

// keyOf finds the key of the session that an answer is for: in its header, where a host
// has put it that knew it, in what is known to wait, else in the log.
func (r *Runtime) keyOf(it *item, sid string) (session.Key, error) {
	if key := session.Key(it.delivery.Header().Get(bus.SessionKeyHeader)); session.SID(r.id, key) == sid {
		return key, nil
	}
	if key, ok := r.parts.asks.Open.Session(it.origin.route.CorrelationID); ok {
		return key, nil
	}
	ctx, cancel := context.WithTimeout(r.work, 10*time.Second)
	defer cancel()
	return r.parts.Store.KeyOf(ctx, r.id, sid)
}

// tell says to a program that has sent an answer what became of it.
func (p *Parts) tell(answer *bus.Route, err error) {
	if !bus.Publishable(answer.ReplyTo) {
		return
	}
	told := bus.Route{Kind: bus.RouteResult, CorrelationID: answer.CorrelationID, InReplyTo: answer.ID}
	if err != nil {
		told.Error = &bus.Error{Code: "validation", Message: err.Error()}
	}
	msg, failed := bus.NewMessage(answer.ReplyTo, told)
	if failed == nil {
		failed = p.NC.PublishMsg(msg)
	}
	if failed != nil {
		p.Log.Debug().Err(failed).Msg("tell what became of an answer")
	}
}

var errNotTheClock = errors.New("only the host sends deadlines; answer under another name in from")

// answer reads it as an answer to a call of the run that waits. ok is false when
// it is none.
func (c *conversation) answer(it *item, r *run.Run) (sig run.Signal, ok bool) {
	if sig, ok = c.meant(it, r); !ok || c.refusalOf(it, r, sig) != nil {
		return run.Signal{}, false
	}
	sig.At, sig.Run = time.Now(), r.ID
	sig.Input = &run.Input{ID: it.input.ID, Subject: it.input.Subject, Seq: it.input.Seq}
	return sig, true
}

// meant is what it says to r, if it says anything.
func (c *conversation) meant(it *item, r *run.Run) (sig run.Signal, ok bool) {
	switch {
	case it.origin.route != nil:
		return c.routedAnswer(it, r)
	case it.stops():
		return run.Signal{Kind: run.Abort, By: sender(it.origin.inbound), Door: it.origin.subject}, true
	}
	open := r.Open()
	if len(open) == 0 { // as mostly
		return run.Signal{}, false
	}
	in := it.origin.inbound
	if c.r.isOrder(in) || it.changes() {
		return sig, false
	}
	sig.By, sig.Door = sender(in), it.origin.subject
	if in.Answers != "" {
		call, found := c.waitingCall(r, in.Answers)
		return said(c.book(it), sig, call, in.Text, found && call.Asked != run.ForDelegate)
	}
	call, answer, ok := ask.Pick(c.book(it), c.askedBefore(it, open), in.Text)
	sig.Kind, sig.Call, sig.Answer, sig.Scope = run.Answered, call.ID, answer.Answer, answer.Scope
	return sig, ok
}

// askedBefore are the calls that wait for a person and had asked when it came.
func (c *conversation) askedBefore(it *item, open []run.Call) (people []run.Call) {
	for _, call := range open {
		if call.Asked != run.ForDelegate && (it.origin.guest() || it.input.Seq > call.Newest) {
			people = append(people, call)
		}
	}
	return people
}

// waitingCall finds the call that waits under a wait id, or under its own.
func (c *conversation) waitingCall(r *run.Run, id string) (run.Call, bool) {
	calls := r.Open()
	i := slices.IndexFunc(calls, func(call run.Call) bool {
		return call.ID == id || c.waitID(r.ID, call) == id
	})
	if i < 0 {
		return run.Call{}, false
	}
	return calls[i], true
}

// routedAnswer reads a result that a host has sent: of the agent that was asked, of a
// person by another door, or of the clock. What an agent says is never the answer of a
// person: a program may choose where it goes.
func (c *conversation) routedAnswer(it *item, r *run.Run) (sig run.Signal, ok bool) {
	route := it.origin.route
	if route.Kind != bus.RouteResult || !it.signed {
		return sig, false
	}
	sig.By, sig.Door = route.From, route.Door
	if strings.HasSuffix(route.CorrelationID, stopHash) {
		sig.Kind, sig.Reason = run.Abort, route.Text
		return sig, it.throughDoor()
	}
	call, found := c.waitingCall(r, route.CorrelationID)
	if !found {
		return sig, false
	}
	switch {
	case route.From == ask.FromDeadline && route.Text == "":
		return c.overdue(sig, call), true
	case route.From == ask.FromDeadline:
		sig, ok = said(c.book(it), sig, call, route.Text, true)
		return c.byDefault(sig, call), ok
	case call.Asked != run.ForDelegate:
		sig, ok = said(c.book(it), sig, call, strings.TrimSpace(route.Text+" "+route.Scope), it.throughDoor())
		sig.Args = route.Args
		return sig, ok && c.mayRun(it, call, sig.Args)
	case route.From != call.To:
		return sig, false
	case route.Error != nil:
		sig.Kind, sig.Call, sig.Source = run.ToolSettled, call.ID, run.FromDelegate
		sig.Result = orElse(route.Error.Message, route.Error.Code)
	default:
		sig.Kind, sig.Call, sig.Answer = run.Answered, call.ID, withMedia(route)
	}
	return sig, true
}

// throughDoor reports whether a result is what a person or the clock says. Hosts of
// version 0.1 did not tell.
func (it *item) throughDoor() bool { return it.origin.route.Door != "" || it.old }

// overdue is what becomes of a call without an answer in time.
func (c *conversation) overdue(sig run.Signal, call run.Call) run.Signal {
	sig.Call, sig.Late = call.ID, true
	switch call.Asked {
	case run.ForApproval:
		sig.Kind, sig.Answer, sig.Result = run.Answered, run.Deny, "not approved: no answer came before the deadline, so it was not run"
		sig.Notice = c.texts().Say("approval_expired", "what", call.Prompt)
		if call.Name == run.Budget {
			sig.Notice = c.texts().Say("budget_expired")
		}
	case run.ForDelegate:
		sig.Kind, sig.Source, sig.Result = run.ToolSettled, run.FromDelegate, "no result came in time"
	default:
		sig.Kind, sig.Source, sig.Result = run.ToolSettled, run.FromAnswer, "no answer came before the deadline"
		sig.Notice = c.texts().Say("question_expired", "question", call.Prompt)
	}
	return sig
}

// byDefault is overdue for a question that has an answer for that case.
func (c *conversation) byDefault(sig run.Signal, call run.Call) run.Signal {
	sig.Late = true
	sig.Result = sig.Answer + " (the default: no answer came before the deadline)"
	sig.Notice = c.texts().Say("question_expired_default", "question", call.Prompt, "answer", sig.Answer)
	return sig
}

// mayRun reports whether args may run in place of what an approval shows. It answers
// with the reason when not.
func (c *conversation) mayRun(it *item, call run.Call, args json.RawMessage) bool {
	if len(args) == 0 {
		return true
	}
	p := c.r.now()
	tool, ok := p.tools.find(call.Name)
	switch err := p.tools.check(tool, args); {
	case call.Asked != run.ForApproval || call.Name == run.Budget:
		it.unfit = errors.New("only the approval of a tool's call takes other arguments")
	case !ok:
		it.unfit = fmt.Errorf("the tool %s is unavailable right now, so its arguments cannot be checked; try again later", call.Name)
	case err != nil:
		it.unfit = fmt.Errorf("the arguments do not fit the tool %s: %w", call.Name, err)
	case p.tools.Policy.Decide(tool, args, nil).Verdict == tools.Deny:
		it.unfit = fmt.Errorf("the permissions of %s deny %s with these arguments", c.r.id, call.Name)
	default:
		return true
	}
	return false
}

// said reads what a person said as the answer to a call. A number in it must be that
// of the call.
func said(book texts.Book, sig run.Signal, call run.Call, text string, found bool) (run.Signal, bool) {
	if !found {
		return sig, false
	}
	_, answer, ok := ask.Pick(book, []run.Call{call}, text)
	sig.Kind, sig.Call, sig.Answer, sig.Scope = run.Answered, call.ID, answer.Answer, answer.Scope
	return sig, ok
}

// heard does what goes with an answer besides the machine, and before it: what
// is allowed for longer is kept, and who works for a run that ends is stopped.
func (t *runner) heard(ctx context.Context, r *run.Run, sig run.Signal) error {
	if sig.Kind == run.Abort {
		for _, call := range r.Open() {
			if call.Asked == run.ForDelegate {
				t.recall(call)
			}
			t.c.r.parts.asks.Delete(t.c.waitID(t.id, call))
		}
		return nil
	}
	if sig.Kind != run.Answered || sig.Answer != run.Approve || sig.Scope == ask.ScopeOnce || sig.Scope == "" {
		return nil
	}
	if r.Hold != nil && r.Hold.ID == sig.Call {
		return t.c.r.parts.asks.Allow(ctx, t.c.r.id, t.c.key, overBudget, sig.Scope, sig.By)
	}
	i := slices.IndexFunc(r.Calls, func(call run.Call) bool { return call.ID == sig.Call })
	if i < 0 || r.Calls[i].Asked != run.ForApproval {
		return nil
	}
	t.p.tools.await(ctx)
	tool, err := t.p.tools.demand(ctx, r.Calls[i].Name)
	if err != nil {
		return nil //nolint:nilerr // without the tool there is nothing to allow
	}
	args := r.Calls[i].Args
	if len(sig.Args) > 0 {
		args = sig.Args
	}
	return t.c.r.parts.asks.Allow(ctx, t.c.r.id, t.c.key, tools.Key(tool, args), sig.Scope, sig.By)
}
