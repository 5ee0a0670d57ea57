package agents

import (
	"context"
	"slices"
	"time"

	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// interject looks at what has come into the queue during the run: an answer, an
// order to stop, a message that joins it or takes its place. The rest waits for
// its turn.
func (t *runner) interject(ctx context.Context) ([]run.Effect, error) {
	for {
		it, sig, ok := t.c.interjection(t.journal)
		if !ok {
			return nil, nil
		}
		if sig.Kind == "" {
			t.join(it)
			t.answeredBy(sig)
			continue
		}
		if it != nil { // it belongs to this run from now on
			if t.refusesAnswer(ctx, it, &sig) {
				continue
			}
			t.join(it)
		}
		if sig.Kind == run.Submit {
			msg := t.joining(ctx, it)
			sig.Message, sig.Inputs = &msg, []run.Input{it.input}
			t.mu.Lock()
			t.inputs = append(t.inputs, it.input)
			t.mu.Unlock()
		}
		if left := t.journal.State().Run; left != nil {
			if err := t.heard(ctx, left, sig); err != nil {
				return nil, err
			}
		}
		if it != nil {
			t.answeredBy(sig)
		}
		if sig.Kind == run.Abort && it != nil {
			return t.beginAbort(sig), nil
		}
		effects := t.journal.Step(sig, t.p.limits())
		if len(effects) > 0 && effects[0].Kind != run.Ignored {
			t.c.poke() // one nudge may stand for several inputs
			return effects, nil
		}
	}
}

// refusesAnswer has the hooks see an answer to a question of the run. One that
// they refuse is answered with the reason, and the question stays open.
func (t *runner) refusesAnswer(ctx context.Context, it *item, sig *run.Signal) bool {
	left := t.journal.State().Run
	if left == nil {
		return false
	}
	reason := t.c.screenAnswer(ctx, it, left, sig)
	if reason == "" {
		return false
	}
	t.c.refuse(t.journal, it, refusedByHook(reason))
	return true
}

// join adds an item to those of the run. Tools under way may look for where it
// comes from.
func (t *runner) join(it *item) {
	t.mu.Lock()
	t.items = append(t.items, it)
	t.mu.Unlock()
}

// interjection takes the first input off the queue that is meant for the run
// under way, of those that it has not looked at yet.
func (c *conversation) interjection(journal *session.Log) (*item, run.Signal, bool) {
	left := journal.State().Run
	if left == nil {
		return nil, run.Signal{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watch()
	if w == nil {
		return nil, run.Signal{}, false
	}
	list := w.take(c.queue, left, c.r.now())
	for i, it := range list {
		if it.place != held && it.place != spilled {
			continue
		}
		taken, sig, ok := c.interjects(journal, it, left)
		if ok {
			if !w.all { // else taking it out has changed more
				w.put(list[i+1:])
			}
			return taken, sig, true
		}
	}
	return nil, run.Signal{}, false
}

// interjects takes an input off the queue if it is meant for the run. One that only
// interrupts the run stays, as the next. Called with the lock held.
func (c *conversation) interjects(journal *session.Log, it *item, left *run.Run) (*item, run.Signal, bool) {
	none := run.Signal{}
	if c.hasChanges() && (it.changes() || len(c.changedIn(it)) > 0) { // it is for what waits, or waits for its turn
		return nil, none, false
	}
	sig, answers := c.answer(it, left)
	mode := c.mode(it)
	if !answers && len(c.live) == 0 && mode != session.Steer && mode != session.Interrupt { // it waits for its turn, as most do
		return nil, none, false
	}
	at := slices.Index(c.queue, it)
	if at < 0 || known(journal, it) {
		return nil, none, false
	}
	if c.answersLive(it) {
		c.takeOut(it)
		return it, none, true
	}
	if answers {
		c.takeOut(it)
		return it, sig, true
	}
	switch mode {
	case session.Steer:
		c.takeOut(it)
		return it, run.Signal{
			Kind: run.Submit, At: time.Now(), Run: "steer:" + it.input.ID, Inputs: []run.Input{it.input}, Join: true,
		}, true
	case session.Interrupt: // it is the next, whatever else waits
		c.shift(at, 0)
		return nil, run.Signal{
			Kind: run.Abort, At: time.Now(), Run: left.ID, By: "interrupt", Reason: c.book(it).Say("stopped_for_newer"),
		}, true
	}
	return nil, none, false
}

// mode is how an input that comes during a run is treated.
func (c *conversation) mode(it *item) session.Queue {
	if it.origin.inbound == nil || !it.stale.IsZero() {
		return session.Followup
	}
	if c.r.isOrder(it.origin.inbound) || it.origin.inbound.Answers != "" || it.changes() { // it is no part of what is under way
		return session.Followup
	}
	switch it.origin.inbound.Priority {
	case "now":
		return session.Interrupt
	case "later":
		return session.Followup
	}
	return it.queue(c.r.now().cfg.Session.Queue)
}

// joining is the message of an input that joins the run under way. A hook or a
// behaviour that refuses it leaves the model only the reason.
func (t *runner) joining(ctx context.Context, it *item) llm.Message {
	s := t.c.screen(ctx, it, t.id)
	it.use(s)
	msg := it.origin.message()
	if t.p.behavior == nil || s != nil && s.refused != "" {
		return msg
	}
	act, err := t.onMessage(ctx, it, msg)
	switch {
	case err != nil:
		return llm.UserText(heldBackText("something went wrong with it"))
	case act.Drop != "" && act.Answer == "":
		return llm.UserText(heldBackText(act.Drop))
	case act.Answer == "" && len(act.Change.Parts) > 0:
		msg = act.Change
		msg.Role = llm.User
	}
	return msg
}
