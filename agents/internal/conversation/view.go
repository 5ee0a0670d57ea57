package conversation

import (
	"context"
	"errors"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/mailbox"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/runner"
	"agenthost/bus/publishing"
	"agenthost/hooks"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/session"
)

// A view is the conversation as its run sees it.
type view Conversation

// Enter notes the run at work. Messages that came before it may be for it.
func (v *view) Enter(t *runner.Runner) {
	c := (*Conversation)(v)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched.Again()
	if c.current, c.begins = t, nil; len(c.Queue) > 0 {
		c.runs.Poke()
	}
}

// Leave notes that t is over.
func (v *view) Leave(t *runner.Runner) {
	c := (*Conversation)(v)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == t {
		c.current, c.last, c.over = nil, t, true
		c.watched = mailbox.Watch{}
	}
}

// Newest is the sequence of the newest message of the chat.
func (v *view) Newest() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.newest
}

// Next deals with what has come into the queue until something is for the run.
func (v *view) Next(ctx context.Context, journal *session.Log) (in runner.Interjection, ok bool, err error) {
	c := (*Conversation)(v)
	for {
		if err := journal.Err(); err != nil { // of a commit beside the run
			return runner.Interjection{}, false, err
		}
		found, ok := c.interjection(journal)
		c.commitRefusals(journal) // of what was turned away
		if !ok {
			return runner.Interjection{}, false, nil
		}
		if found.notice != "" {
			c.out.Say(found.it, run.Reply{Kind: run.KindNotice, Text: found.notice})
		}
		switch {
		case found.refusal != nil:
			c.refuse(journal, found.it, found.refusal)
		case found.stays:
		case found.elsewhere:
			c.passOnSoon(journal, found.it)
		case found.it != nil && c.refusesAnswer(ctx, journal, found.it, &found.sig):
		default:
			return runner.Interjection{Item: found.it, Signal: found.sig}, true, nil
		}
	}
}

// refusesAnswer has the hooks see an answer to a question of the run. One that
// they refuse is answered with the reason, and the question stays open.
func (c *Conversation) refusesAnswer(ctx context.Context, journal *session.Log, it *message.Item, sig *run.Signal) bool {
	left := journal.State().Run
	if left == nil {
		return false
	}
	reason := c.ScreenAnswer(ctx, it, left, sig)
	if reason == "" {
		return false
	}
	c.refuse(journal, it, inflight.RefusedByHook(reason))
	return true
}

// TakeAbort takes another order to stop the run off the queue. It ends without a reply of its
// own: that of the run answers both.
func (v *view) TakeAbort(journal *session.Log) *message.Item {
	c := (*Conversation)(v)
	left := journal.State().Run
	if left == nil {
		return nil
	}
	it := c.secondAbort(journal, left)
	if it == nil {
		return nil
	}
	if it.Interjects() {
		c.Agent.Parts.Tell(it.Origin.Route, nil)
	}
	c.commitRefusals(journal)
	return it
}

// secondAbort takes another order to stop the run off the queue.
func (c *Conversation) secondAbort(journal *session.Log, left *run.Run) *message.Item {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range c.Queue {
		if it.Place != message.Held && it.Place != message.Spilled {
			continue
		}
		if sig, ok := c.reader().Answer(it, left); ok && sig.Kind == run.Abort && sig.TakenOver == nil && !known(journal, it) {
			c.takeOut(it)
			it.Withdrawn = true
			c.refusals = append(c.refusals, it)
			return it
		}
	}
	return nil
}

// GoesOn notes that the run has what it was suspended for.
func (v *view) GoesOn() {
	v.mu.Lock()
	v.suspended, v.noticed, v.refusedFrom = false, false, 0
	v.mu.Unlock()
}

// Committed goes on once the last commit of a run is settled.
func (v *view) Committed(t *runner.Runner, last []*run.Reply, err error) {
	c := (*Conversation)(v)
	switch {
	case errors.Is(err, publishing.ErrClosed):
		message.LeaveAll(message.DeliveriesOf(t.Items))
		c.leave()
		return
	case err != nil:
		c.brokeOff(t.Items, err)
		return
	}
	// An input that only the log stands for would not lead back to a
	// reply that was lost: then nothing else happens here before it is stored.
	wait := message.Delivered(t.Items) < len(t.Inputs)
	c.out.Send(&outbox.Batch{Replies: last, Trace: t.Trace, End: func(stored bool) {
		c.published(t, stored)
		if wait {
			c.proceed()
		}
	}})
	if !wait {
		c.proceed()
	}
}

// published goes on once the replies of a run are stored.
func (c *Conversation) published(t *runner.Runner, stored bool) {
	deliveries := message.DeliveriesOf(t.Items)
	if !stored {
		message.LeaveAll(deliveries)
		return
	}
	crash.Point("before-ack")
	c.settle(deliveries)
	if c.Hooked(hooks.AfterMessage) {
		c.shared.Ends.Go(t.FireAfterMessage)
	}
}
