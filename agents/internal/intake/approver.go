package intake

import (
	"context"
	"errors"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// The operator names approvers, and says elsewhere who may write on a channel. Where these
// senders leave an approver out, what they say to an approval counts all the same: it is passed
// on at once, begins no run and is in no session. All else that they write is a stranger's.

// mayApprove reports whether a stranger's message may answer an approval, as far as is known
// without asking the server.
func (i *Intake) mayApprove(it *message.Item) bool {
	in := it.Origin.Inbound
	if it.Changes() || i.Now().Shadow() {
		return false
	}
	if in.Answers != "" {
		_, _, ok := ask.SplitID(in.Answers)
		return ok
	}
	return !in.Group && !i.Parts.Asks.Open.Calm()
}

// approve passes on what a stranger says to an approval of which they are an approver. It
// reports whether that is what the message is; then it is settled.
func (i *Intake) approve(it *message.Item) bool {
	ctx, cancel := context.WithTimeout(i.Work(), 30*time.Second)
	defer cancel()
	before, err := i.approvedBefore(ctx, it)
	if err == nil && before {
		i.answer(it, bus.Outbound{Kind: bus.KindReply, Text: i.book(it).Say("answer_noted")})
		return true
	}
	w, found := ask.Waiting{}, false
	if err == nil {
		w, found, err = i.approval(ctx, it)
	}
	if err == nil && !found {
		return false
	}
	var refused string
	if err == nil {
		refused, err = i.passApproval(it, w)
	}
	switch {
	case err != nil:
		i.log().Warn().Err(err).Str("from", message.Sender(it.Origin.Inbound)).Msg("pass on the word of an approver: failed; the message comes again")
		it.Delivery.Leave()
	case refused != "":
		i.answer(it, bus.Outbound{Kind: bus.KindError, Text: refused, Error: &bus.Error{Code: string(llm.CodeValidation), Message: refused}})
	default:
		i.answer(it, bus.Outbound{Kind: bus.KindReply, Text: i.book(it).Say("answer_noted")})
	}
	return true
}

// answer says to an approver what became of their word, and settles it.
func (i *Intake) answer(it *message.Item, out bus.Outbound) {
	out.Final = true
	i.tell(it, it.Delivery, "approver", out, settle(it.Delivery))
}

// approvedBefore reports whether an owner before may have passed it on, and has.
func (i *Intake) approvedBefore(ctx context.Context, it *message.Item) (bool, error) {
	if !it.MayHaveBegun() {
		return false, nil
	}
	since := it.Delivery.Stored.Add(-10 * time.Second) // clocks of a cluster differ
	id, err := i.Parts.Asks.PassedOn.Find(ctx, i.passedOnHash(it), since)
	return id != "", err
}

// passedOnHash ends the id under which it is passed on, as that of a session does.
func (i *Intake) passedOnHash(it *message.Item) string {
	return ":" + session.SID(it.Input.ID, i.Parts.Identities.Session(it.Origin.Key(it.Input.ID)))
}

// approval finds the approval that a message answers, of those that name its sender.
func (i *Intake) approval(ctx context.Context, it *message.Item) (w ask.Waiting, found bool, err error) {
	in, open := it.Origin.Inbound, i.Parts.Asks.Open
	names := func(w ask.Waiting) bool { return w.Kind == run.ForApproval && it.IsFrom(w.Approvers) }
	if in.Answers != "" {
		if !open.Knows(i.Work().Done(), in.Answers) {
			return w, false, nil
		}
		w, err = ask.Read(ctx, i.Parts.JS, in.Answers)
		if errors.Is(err, ask.ErrNotWaiting) {
			return w, false, nil
		}
		return w, err == nil && names(w), err
	}
	asked := open.At(i.Work().Done(), func(w ask.Waiting) bool {
		return names(w) && w.Notified && w.Agent == i.Agent && !open.HasOther(w.ID, it.Input.ID, message.Sender(in))
	}, ask.With(it.Origin.Outbound(), message.Sender(in), in.Thread))
	call, _, ok := ask.Pick(i.book(it), ask.InOrder(nil, asked), in.Said(), in.Option() > 0)
	for _, w := range asked {
		if ok && w.ID == call.ID {
			return w, true, nil
		}
	}
	return w, false, nil
}

// passApproval passes on what an approver says to w; refused is why it is no answer.
func (i *Intake) passApproval(it *message.Item, w ask.Waiting) (refused string, err error) {
	in, book := it.Origin.Inbound, i.book(it)
	text := in.Said()
	if n := in.Option(); in.Answers != "" && n > 0 && n <= len(w.Options) { // a button
		text = w.Options[n-1]
	}
	_, sig, ok := ask.Pick(book, []run.Call{{ID: w.ID, Asked: w.Kind, Options: w.Options, Number: w.Number}}, text, in.Option() > 0)
	switch {
	case !w.InTime(it.Stored) && w.Tool == run.Budget:
		return book.Say("budget_expired"), nil
	case !w.InTime(it.Stored):
		return book.Say("approval_expired", "what", w.Prompt), nil
	case !ok:
		return book.Say("not_an_approval"), nil
	}
	msg, err := w.Answer(bus.Route{
		ID: it.Input.ID, From: message.Sender(in), Text: sig.Answer, Scope: sig.Scope, Door: it.Origin.Subject, AnsweredAt: it.Stored.UTC(),
	})
	if err != nil {
		return "", err
	}
	msg.Header.Set(nats.MsgIdHdr, w.ID+i.passedOnHash(it))
	tracing.Context{Parent: it.Input.Trace, State: it.Input.State}.Set(msg.Header)
	if _, err = i.Parts.Publisher.PublishWait(i.Work(), msg); err == nil {
		i.Parts.Asks.Open.Give(w.ID, it.Input.ID, message.Sender(in))
	}
	return "", err
}
