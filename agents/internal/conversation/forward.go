package conversation

import (
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/replies"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// mayAnswer reports whether an input that comes while no run waits here may be
// for one that waits elsewhere and has asked in this chat.
func (c *Conversation) mayAnswer(it *message.Item) bool {
	in := it.Origin.Inbound
	if in == nil || it.Local || c.reader().IsForItself(it) {
		return false
	}
	if in.Answers != "" || it.MayHaveBegun() { // an owner before may have passed it on
		return true
	}
	return len(c.reader().OpenHere(it)) > 0
}

// forwardSoon is forward for an answer that names its question. The server that is asked
// for the question may learn of it a moment later.
func (c *Conversation) forwardSoon(journal *session.Log, it *message.Item) bool {
	tries := 1
	if it.Origin.Inbound.Answers != "" { // then there is a question, or was
		tries = 5
	}
	for {
		if c.forward(journal, it) {
			return true
		}
		if tries--; tries == 0 {
			it.Local = true
			return false
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-c.Agent.Work.Done(): // the next owner looks
			it.Delivery.Leave()
			return true
		}
	}
}

// forward passes an answer on to the run that has asked in this chat and is not
// of it: that of an agent which works for this one, or one that was begun by the
// clock or an event. It reports whether that was what the input is.
func (c *Conversation) forward(journal *session.Log, it *message.Item) bool {
	if c.reader().IsForItself(it) {
		return false
	}
	before, err := c.reader().PassedOn(it)
	if err != nil {
		it.Delivery.Leave()
		return true
	}
	ctx, cancel := context.WithTimeout(c.Agent.Work, 10*time.Second)
	defer cancel()
	switch {
	case it.Stops():
		return c.stopHere(ctx, journal, it, before)
	case before != "": // by an owner who may have died before it said so
		c.noted(journal, it, c.passedTo(it, before))
		return true
	}
	in := it.Origin.Inbound
	asked := c.reader().AskedHere(ctx, it)
	w, sig, fits := c.meantElsewhere(journal, it, asked)
	switch {
	case !fits && in.Answers != "" && len(asked) > 0:
		c.refuse(journal, it, c.reader().NoAnswer(it, asked[0].Kind, asked[0].Options))
		return true
	case !fits:
		return false
	}
	if !w.InTime(it.Stored) { // the agent has yet to see that
		c.refuse(journal, it, c.reader().Expired(it, w))
		return true
	}
	if why := answers.RuleOf(w).Refuse(c.Book(it), it, in.Answers == "" || c.reader().IsHere(w.Origin, it), sig); why != nil {
		c.refuse(journal, it, why)
		return true
	}
	if w.Kind == run.ForQuestion && len(w.Options) == 0 {
		if s := c.Screen(ctx, it, ""); s != nil && s.Refused != "" {
			c.refuse(journal, it, inflight.RefusedByHook(s.Refused))
			return true
		} else if s != nil {
			sig.Answer = ask.ReadAgain(in.Text, sig.Answer, s.Origin.Inbound.Text)
		}
	}
	msg, err := w.Answer(bus.Route{ID: it.Input.ID, From: message.Sender(in), Text: sig.Answer, Scope: sig.Scope, Door: it.Origin.Subject, AnsweredAt: it.Stored.UTC()})
	if err == nil {
		err = c.passOn(it, w.ID, msg)
	}
	switch {
	case errors.Is(err, errStopping):
		it.Delivery.Leave()
	case err != nil:
		c.Log().Warn().Err(err).Msg("pass an answer on")
		return false
	default:
		c.reader().Give(it, w.ID)
		crash.Stall("after-pass-on")
		c.noted(journal, it, c.passedTo(it, w.ID))
	}
	return true
}

// meantElsewhere picks the one of asked that an input answers: one whose deadline has passed
// only where it is for no other. Any text that comes so late is a message like others.
func (c *Conversation) meantElsewhere(journal *session.Log, it *message.Item, asked []agents.Waiting) (w agents.Waiting, sig run.Signal, fits bool) {
	left := journal.State().Run
	open, over := split(asked, func(w agents.Waiting) bool { return w.InTime(it.Stored) })
	if w, sig, fits = c.reader().MeantElsewhere(it, left, open); fits || len(over) == 0 {
		return w, sig, fits
	}
	if it.Origin.Inbound.Answers == "" {
		over = slices.DeleteFunc(over, func(w agents.Waiting) bool { return w.Kind == run.ForQuestion && len(w.Options) == 0 })
	}
	return c.reader().MeantElsewhere(it, left, over)
}

// split are those of a list that are, and those that are not.
func split(list []agents.Waiting, is func(agents.Waiting) bool) (yes, no []agents.Waiting) {
	for _, w := range list {
		if is(w) {
			yes = append(yes, w)
		} else {
			no = append(no, w)
		}
	}
	return yes, no
}

// passOn publishes what an input means to a call that waits under that id.
func (c *Conversation) passOn(it *message.Item, id string, msg *nats.Msg) error {
	msg.Header.Set(nats.MsgIdHdr, id+c.reader().PassedOnHash(it))
	tracing.Context{Parent: it.Input.Trace, State: it.Input.State}.Set(msg.Header)
	_, err := c.Agent.Parts.Publisher.PublishWait(c.Agent.Work, msg)
	if c.Agent.Work.Err() != nil { // it may be stored or not; the next owner looks
		return errStopping
	}
	return err
}

// stopHere ends the runs of other sessions that wait for an answer in this chat.
// An order that comes again, and was passed on before, is for none that has
// asked since.
func (c *Conversation) stopHere(ctx context.Context, journal *session.Log, it *message.Item, before string) bool {
	n := 0
	for _, w := range c.reader().AskedHere(ctx, it) {
		if before != "" && w.AskedAt.After(it.Delivery.Stored) {
			continue
		}
		msg, err := agents.StopMessageBy(it.Origin.Subject, w.Agent, session.Key(w.Session), message.Sender(it.Origin.Inbound), c.Book(it).Say("stopped"), "")
		if err == nil {
			err = c.passOn(it, w.ID, msg)
		}
		if errors.Is(err, errStopping) {
			it.Delivery.Leave()
			return true
		}
		if err != nil {
			c.Log().Warn().Err(err).Str("session", w.Session).Msg("pass an order to stop on")
			continue
		}
		n++
	}
	if n == 0 && before == "" {
		return false
	}
	c.noted(journal, it, c.Book(it).Say("stopping_elsewhere"))
	return true
}

// passedTo is what a person is told when their answer was passed on to the wait with an id.
func (c *Conversation) passedTo(it *message.Item, id string) string {
	if agent, _, _ := ask.SplitID(id); agent != c.Agent.ID {
		return c.Book(it).Say("answer_passed_on", "agent", profile.Title(agent))
	}
	return c.Book(it).Say("answer_noted")
}

// noted says to a person, once, what became of an input that was passed on. Of one that may
// have begun an owner before may have said so, longer ago than the stream remembers.
func (c *Conversation) noted(journal *session.Log, it *message.Item, told string) {
	if it.MayHaveBegun() {
		said, err := c.saidBefore(it, told)
		switch {
		case err != nil:
			it.Delivery.Leave()
			return
		case said:
			it.Delivery.Done()
			return
		}
	}
	c.mu.Lock()
	c.takeOut(it)
	it.PassedOn = told
	c.refusals = append(c.refusals, it)
	c.mu.Unlock()
	c.commitRefusals(journal)
}

// saidBefore reports whether the stream has what a person is told already.
func (c *Conversation) saidBefore(it *message.Item, told string) (said bool, err error) {
	reply := replies.Aside(c.Session, it, run.Reply{Kind: run.KindReply, Final: true, Text: told}).Replies[0]
	err = c.Insist(func() error {
		ctx, cancel := context.WithTimeout(c.Agent.Work, 30*time.Second)
		defer cancel()
		again := &outbox.Batch{}
		finder := unsent.Finder{Session: c.Session}
		if err := finder.Add(ctx, []unsent.Reply{{Reply: reply, At: it.Delivery.Stored, Out: again}}); err != nil {
			return err
		}
		said = len(again.Replies) == 0
		return nil
	})
	return said, err
}
