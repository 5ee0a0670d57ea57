package agents

import (
	"errors"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/outbox"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// errSuspended ends the work on a run that waits for somebody.
var errSuspended = errors.New("run waits for somebody")

// suspend lets everything go that a waiting run has held: its log has it all.
func (c *conversation) suspend(t *runner) {
	deliveries := deliveriesOf(t.items)
	c.mu.Lock()
	c.suspended = true
	if c.anchor != nil {
		deliveries = append(deliveries, c.anchor)
		c.anchor = nil
	}
	c.mu.Unlock()
	c.send(&outbox.Batch{End: func(stored bool) {
		if stored {
			c.settle(deliveries)
		} else {
			leaveAll(deliveries)
		}
	}})
	c.idle()
}

// workSuspended looks at what has come for a run that waits: the answer lets it
// go on, anything else waits behind it, in the log.
func (c *conversation) workSuspended(journal *session.Log, left *run.Run) {
	c.mu.Lock()
	c.suspended, c.refusedFrom = true, 0
	fresh := c.fresh
	c.fresh = false
	held, settled := c.heldItems()
	c.mu.Unlock()
	for _, d := range settled {
		d.Done()
	}
	t := c.newRunner(journal, left.ID, nil)
	t.answerTo(left.Inputs)
	if fresh && slices.ContainsFunc(held, func(it *item) bool { return it.tried }) {
		// Whoever had it may have died between asking and being heard.
		if err := t.askAgain(); err != nil {
			c.end(t, err)
			return
		}
	}
	for _, it := range held {
		if sig, ok := c.answer(it, left); ok && !known(journal, it) { // an answer counts once
			other, err := c.passedOn(it)
			if err == nil && other == "" {
				if reason := c.screenAnswer(c.r.work, it, left, &sig); reason != "" {
					c.refuse(journal, it, refusedByHook(reason))
					continue
				}
				c.unqueue(it)
				t.items = []*item{it}
				err = t.goOn(left, sig)
			}
			if err != nil || other == "" {
				c.end(t, err)
				return
			}
		}
		if err := c.keepWaiting(journal, left, it); err != nil {
			c.end(t, err)
			return
		}
	}
	c.idle()
}

// heldItems are the inputs of the queue whose messages are held, and the messages that
// the log stands for. Called with the lock held.
func (c *conversation) heldItems() (list []*item, settled []*delivery.Delivery) {
	for _, it := range c.queue {
		switch {
		case it.place == held, it.place == repeated:
			list = append(list, it)
		case it.place == logged && it.delivery != nil:
			settled = append(settled, it.delivery)
			it.delivery = nil
		}
	}
	return list, settled
}

// unqueue takes one input off the queue.
func (c *conversation) unqueue(it *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeOut(it)
}

// takeOut is unqueue with the lock held.
func (c *conversation) takeOut(it *item) {
	if c.remove(it) && it.changes() {
		c.watch().again()
	}
}

// keepWaiting deals with an input that is no answer to what the run waits for.
func (c *conversation) keepWaiting(journal *session.Log, left *run.Run, it *item) error {
	seq, seen := it.seen(journal)
	switch {
	case it.interjects() && seen:
		c.unqueue(it)
		c.r.taken(it)
	case it.interjects():
		c.unqueue(it)
		c.turnDown(it, left)
	case seen && seq > 0:
		c.unqueue(it)
		return c.answerAgain(it, seq)
	case seen: // it has begun the run that waits, has answered before, or waits itself
		c.unqueue(it)
		it.delivery.Done()
	case it.origin.route != nil && it.origin.route.Kind == bus.RouteHeartbeat: // its time is over
		c.unqueue(it)
		it.delivery.Done()
	case c.refusal(it, left) != nil:
		c.refuse(journal, it, c.refusal(it, left))
	case it.origin.inbound != nil && c.forward(journal, it):
		c.unqueue(it)
	case it.origin.inbound != nil && it.origin.inbound.Answers != "":
		if call, waits := c.waitingCall(left, it.origin.inbound.Answers); waits && call.Asked != run.ForDelegate {
			c.refuse(journal, it, c.noAnswer(it, call.Asked, call.Options))
		} else {
			c.refuse(journal, it, c.mistake(it, "no_open_question"))
		}
	default:
		c.waitBehind(journal, left, it)
	}
	return nil
}

// waitBehind has an input wait in the log for the end of the run that waits,
// unless there is no room for it.
func (c *conversation) waitBehind(journal *session.Log, left *run.Run, it *item) {
	c.mu.Lock()
	if slices.Index(c.queue, it) >= c.r.backlog() {
		c.takeOut(it)
		c.refuseExcess(it)
		c.mu.Unlock()
		c.commitRefusals(journal)
		return
	}
	c.refusedFrom = 0
	if it.changes() && !c.hasTarget(it) {
		c.refuseMissed(it)
		c.mu.Unlock()
		c.commitRefusals(journal)
		return
	}
	c.move(it, spilled)
	c.spill()
	told := c.noticed || it.changes()
	c.noticed = c.noticed || !told
	c.mu.Unlock()
	if !told && it.origin.inbound != nil {
		c.notice(it, left)
	}
}

// turnDown drops an answer that the run does not take.
func (c *conversation) turnDown(it *item, left *run.Run) {
	if _, waits := c.waitingCall(left, it.origin.route.CorrelationID); !waits {
		c.r.late(it)
		return
	}
	why := it.unfit
	if why == nil {
		why = errUnfit
	}
	c.r.parts.tell(it.origin.route, why)
	it.delivery.Done()
}

// errUnfit tells that an answer is none to the question that it names.
var errUnfit = errors.New("this is no answer to the question; an approval takes approve or deny, a question with options one of them")

// noAnswer tells a person that what they have said to a question, by its id, does
// not answer it, and what would.
func (c *conversation) noAnswer(it *item, asked string, options []string) *run.Error {
	switch {
	case asked == run.ForApproval:
		return c.mistake(it, "not_an_approval")
	case len(options) > 0:
		return c.mistake(it, "not_an_option", "options", strings.Join(options, ", "))
	}
	return c.mistake(it, "not_an_answer")
}

// mistake is the error of a message that asks for what cannot be, in words.
func (c *conversation) mistake(it *item, key string, values ...string) *run.Error {
	return &run.Error{Code: llm.CodeValidation, Message: c.book(it).Say(key, values...)}
}

// notice tells a person, once, what their message has to wait for.
func (c *conversation) notice(it *item, left *run.Run) {
	text, book := c.texts().Say("waiting"), c.book(it)
	if calls := left.Open(); len(calls) > 0 {
		text = book.Say("waiting_for_answer", "question", calls[0].Prompt)
		if calls[0].Asked == run.ForDelegate {
			text = book.Say("waiting_for_agent", "agent", title(calls[0].To))
		}
	}
	c.say(it, run.Reply{Kind: run.KindNotice, Text: text}, func(bool) {})
}

// say answers an input outside of any run. The same input is told the same
// thing under the same id.
func (c *conversation) say(it *item, reply run.Reply, end func(stored bool)) {
	out := c.aside(it, reply)
	out.End = end
	c.send(out)
}

// aside is a reply that no run gives.
func (c *conversation) aside(it *item, reply run.Reply) *outbox.Batch {
	t := c.newRunner(nil, reply.Kind+"-"+session.SID(it.input.ID, c.key), []*item{it})
	reply.N = 1
	if err := t.address(&reply); err != nil {
		c.log().Error().Err(err).Msg("encode reply")
	}
	return &outbox.Batch{Replies: []*run.Reply{&reply}, Trace: t.trace}
}

// askAgain puts the questions of a run that waits once more.
func (t *runner) askAgain() error {
	ctx, cancel := t.context()
	defer cancel()
	err := t.perform(ctx, t.journal.Resume(time.Now(), t.p.limits()))
	if errors.Is(err, errSuspended) {
		return nil
	}
	return err
}

// goOn takes a run up again with an answer.
func (t *runner) goOn(left *run.Run, sig run.Signal) (err error) {
	defer t.c.guard(&err)
	ctx, cancel := t.context()
	defer cancel()
	if err := t.heard(ctx, left, sig); err != nil {
		return err
	}
	t.c.mu.Lock()
	t.c.suspended, t.c.noticed, t.c.refusedFrom = false, false, 0
	t.c.mu.Unlock()
	t.answeredBy(sig)
	return t.perform(ctx, t.journal.Step(sig, t.p.limits()))
}

// answeredBy tidies up behind an answer, and tells who gave it by another door.
func (t *runner) answeredBy(sig run.Signal) {
	if left := t.journal.State().Run; left != nil && sig.Call != "" {
		if call, waits := t.c.waitingCall(left, sig.Call); waits {
			t.c.r.parts.asks.Delete(t.c.waitID(t.id, call))
		}
	}
	for _, it := range t.items {
		if it.interjects() && it.origin.route.From != ask.FromDeadline {
			t.c.r.parts.tell(it.origin.route, nil)
		}
	}
}
