package agents

import (
	"context"
	"errors"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/crash"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// mayAnswer reports whether an input that comes while no run waits here may be
// for one that waits elsewhere and has asked in this chat.
func (c *conversation) mayAnswer(it *item) bool {
	in := it.origin.inbound
	if in == nil || it.local || c.isForItself(it) {
		return false
	}
	if in.Answers != "" || it.tried { // an owner before may have passed it on
		return true
	}
	return len(c.openHere(it)) > 0
}

// isForItself reports whether it is an order or a change, and so no answer to anything.
func (c *conversation) isForItself(it *item) bool {
	return it.changes() || c.r.isOrder(it.origin.inbound) && !it.stops()
}

// forwardSoon is forward for an answer that names its question, which the
// server that is asked for it may hear of a moment later.
func (c *conversation) forwardSoon(journal *session.Log, it *item) bool {
	tries := 1
	if it.origin.inbound.Answers != "" { // then there is a question, or was
		tries = 5
	}
	for {
		if c.forward(journal, it) {
			return true
		}
		if tries--; tries == 0 {
			it.local = true
			return false
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-c.r.work.Done():
			return false
		}
	}
}

// forward passes an answer on to the run that has asked in this chat and is not
// of it: that of an agent which works for this one, or one that was begun by the
// clock or an event. It reports whether that was what the input is.
func (c *conversation) forward(journal *session.Log, it *item) bool {
	if c.isForItself(it) {
		return false
	}
	before, err := c.passedOn(it)
	if err != nil {
		it.delivery.Leave()
		return true
	}
	ctx, cancel := context.WithTimeout(c.r.work, 10*time.Second)
	defer cancel()
	switch {
	case it.stops():
		return c.stopHere(ctx, it, before)
	case before != "": // by an owner who may have died before it said so
		c.noted(it, c.passedTo(it, before))
		return true
	}
	in := it.origin.inbound
	asked := c.askedHere(ctx, it)
	w, sig, fits := ask.PickWaiting(c.book(it), asked, in.Text)
	switch {
	case !fits && in.Answers != "" && len(asked) > 0:
		c.refuse(journal, it, c.noAnswer(it, asked[0].Kind, asked[0].Options))
		return true
	case !fits:
		return false
	}
	if why := ruleOf(w).refuse(c.book(it), it, in.Answers == "" || c.isHere(w.Origin, it), sig); why != nil {
		c.refuse(journal, it, why)
		return true
	}
	if w.Kind == run.ForQuestion && len(w.Options) == 0 {
		if s := c.screen(ctx, it, ""); s != nil && s.refused != "" {
			c.refuse(journal, it, refusedByHook(s.refused))
			return true
		} else if s != nil {
			sig.Answer = strings.TrimSpace(s.origin.inbound.Text)
		}
	}
	msg, err := w.Answer(bus.Route{ID: it.input.ID, From: sender(in), Text: sig.Answer, Scope: sig.Scope, Door: it.origin.subject})
	if err == nil {
		err = c.passOn(it, w.ID, msg)
	}
	switch {
	case errors.Is(err, errStopping):
		it.delivery.Leave()
	case err != nil:
		c.log().Warn().Err(err).Msg("pass an answer on")
		return false
	default:
		crash.Stall("after-pass-on")
		c.noted(it, c.passedTo(it, w.ID))
	}
	return true
}

// passOn publishes what an input means to a call that waits under that id.
func (c *conversation) passOn(it *item, id string, msg *nats.Msg) error {
	msg.Header.Set(nats.MsgIdHdr, id+c.passedOnHash(it))
	tracing.Context{Parent: it.input.Trace, State: it.input.State}.Set(msg.Header)
	_, err := c.r.parts.Publisher.PublishWait(c.r.work, msg)
	if c.r.work.Err() != nil { // it may be stored or not; whoever gets it again will see
		return errStopping
	}
	return err
}

// stopHere ends the runs of other sessions that wait for somebody in this chat.
// An order that comes again, and was passed on before, is for none that has
// asked since.
func (c *conversation) stopHere(ctx context.Context, it *item, before string) bool {
	n := 0
	for _, w := range c.askedHere(ctx, it) {
		if before != "" && w.AskedAt.After(it.delivery.Stored) {
			continue
		}
		msg, err := StopMessageBy(it.origin.subject, w.Agent, session.Key(w.Session), sender(it.origin.inbound), c.book(it).Say("stopped"), "")
		if err == nil {
			err = c.passOn(it, w.ID, msg)
		}
		if errors.Is(err, errStopping) {
			it.delivery.Leave()
			return true
		}
		if err != nil {
			c.log().Warn().Err(err).Str("session", w.Session).Msg("pass an order to stop on")
			continue
		}
		n++
	}
	if n == 0 && before == "" {
		return false
	}
	c.noted(it, c.book(it).Say("stopping_elsewhere"))
	return true
}

// passedOnHash ends the id under which an answer is passed on, after that of
// what it answers.
func (c *conversation) passedOnHash(it *item) string { return ":" + session.SID(it.input.ID, c.key) }

// maxWord is about how long the answer to an approval is.
const maxWord = 2 * len(run.Approve+ask.ScopeSession)

// passedOn finds what was answered with an input that has come again. It must
// answer nothing else: by now another question may be open in the chat.
func (c *conversation) passedOn(it *item) (waiting string, err error) {
	if !it.tried || it.delivery == nil || it.origin.inbound == nil {
		return "", nil
	}
	hash, most := c.passedOnHash(it), 0
	if len(it.origin.inbound.Text) > maxWord && it.origin.inbound.Answers == "" { // it is none, most likely
		most = searchMost
	}
	since := it.delivery.Stored.Add(-10 * time.Second) // clocks of a cluster differ
	err = c.insist(func() error {
		ctx, cancel := context.WithTimeout(c.r.work, 30*time.Second)
		defer cancel()
		id, err := c.r.parts.Reader.FindID(ctx, bus.RoutePrefix+"*", since, most, func(id string) bool { return strings.HasSuffix(id, hash) })
		waiting = strings.TrimSuffix(id, hash)
		return err
	})
	return waiting, err
}

// passedTo tells a person that their answer is with what waits under an id.
func (c *conversation) passedTo(it *item, id string) string {
	if agent, _, _ := ask.SplitID(id); agent != c.r.id {
		return c.book(it).Say("answer_passed_on", "agent", title(agent))
	}
	return c.book(it).Say("answer_noted")
}

// noted tells a person, once, what became of an input that was passed on.
func (c *conversation) noted(it *item, told string) {
	out := c.aside(it, run.Reply{Kind: run.KindReply, Final: true, Text: told})
	out.End = func(stored bool) {
		if stored {
			it.delivery.Done()
		} else {
			it.delivery.Leave()
		}
	}
	if it.tried { // and perhaps told, longer ago than the stream remembers
		told := out.Replies[0]
		err := c.insist(func() error {
			ctx, cancel := context.WithTimeout(c.r.work, 30*time.Second)
			defer cancel()
			again := &outbox.Batch{}
			if err := c.unpublished(ctx, []earlier{{told, it.delivery.Stored, again}}); err != nil {
				return err
			}
			out.Replies = again.Replies
			return nil
		})
		if err != nil {
			it.delivery.Leave()
			return
		}
	}
	c.send(out)
}

// askedHere finds the questions of other runs that the input may answer: the one that
// it names, or all that were put in this chat.
func (c *conversation) askedHere(ctx context.Context, it *item) (here []Waiting) {
	if id := it.origin.inbound.Answers; id != "" {
		w, err := ask.Read(ctx, c.r.parts.JS, id)
		if err != nil && !errors.Is(err, ask.ErrNotWaiting) {
			c.log().Warn().Err(err).Msg("look for a question of another run")
		}
		if err == nil && w.Kind != run.ForDelegate && !c.owns(w) {
			here = append(here, w)
		}
		return here
	}
	return c.openHere(it)
}

// openHere lists what other runs have asked where an input comes from.
func (c *conversation) openHere(it *item) []Waiting {
	open := c.r.parts.asks.Open
	if open.Calm() {
		return nil
	}
	in := it.origin.inbound
	place := ask.With(it.origin.outbound(), sender(in), in.Thread)
	if in.Group {
		place = ask.InChat(it.origin.outbound(), in.Chat, in.Thread)
	}
	fits := func(w Waiting) bool { return !c.owns(w) && c.isWhere(w.Origin, it) }
	return open.At(c.r.work.Done(), fits, ask.InSession(c.r.id, string(c.key)), place)
}

// owns reports whether a run of this conversation waits.
func (c *conversation) owns(w Waiting) bool { return w.Agent == c.r.id && w.Session == string(c.key) }

// isWhere reports whether a question was put where the input comes from. One
// that no conversation has led to only knows an address.
func (c *conversation) isWhere(at *bus.Origin, it *item) bool {
	if at.Session != "" {
		return at.Agent == c.r.id && at.Session == string(c.key)
	}
	if at.Agent != "" && at.Agent != c.r.id { // another agent that is in this chat has begun it
		return false
	}
	return it.isAt(at)
}

// isHere reports whether a question was put in the chat of the input, by whichever of
// the agents that are in it.
func (c *conversation) isHere(at *bus.Origin, it *item) bool {
	if at == nil || at.Session == "" {
		return at != nil && it.isAt(at)
	}
	return at.Subject == it.origin.outbound() && at.Session == string(c.key)
}

// isAt reports whether the input comes from an address.
func (it *item) isAt(at *bus.Origin) bool {
	in := it.origin.inbound
	if at.Subject != it.origin.outbound() || at.Thread != in.Thread {
		return false
	}
	if in.Group {
		return at.Chat == in.Chat
	}
	return at.To == sender(in) && (at.Chat == "" || at.Chat == in.Chat)
}
