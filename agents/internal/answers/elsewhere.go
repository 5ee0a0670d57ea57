package answers

import (
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// An input may answer what a run of another session has asked in this chat: that of an agent
// which works for this one, or one that was begun by the clock or an event.

// IsForItself reports whether it is an order or a change, and so no answer to anything.
func (c Reader) IsForItself(it *message.Item) bool {
	return it.Changes() || c.IsOrder(it.Origin.Inbound) && !it.Stops()
}

// PassedOnHash ends the id under which an answer is passed on, after that of
// what it answers.
func (c Reader) PassedOnHash(it *message.Item) string {
	return ":" + session.SID(it.Input.ID, c.Key)
}

// PassedOn finds what was answered with an input that has come again. It must
// answer nothing else: by now another question may be open in the chat.
func (c Reader) PassedOn(it *message.Item) (waiting string, err error) {
	if it.Delivery == nil || !it.MayHaveBegun() || it.Origin.Inbound == nil {
		return "", nil
	}
	since := it.Delivery.Stored.Add(-10 * time.Second) // clocks of a cluster differ
	err = c.Insist(func() error {
		ctx, cancel := context.WithTimeout(c.Agent.Work, 30*time.Second)
		defer cancel()
		waiting, err = c.Agent.Parts.Asks.PassedOn.Find(ctx, c.PassedOnHash(it), since)
		return err
	})
	return waiting, err
}

// AskedHere finds the questions of other runs that the input may answer: the one that
// it names, or all that were put in this chat.
func (c Reader) AskedHere(ctx context.Context, it *message.Item) (here []agents.Waiting) {
	if id := it.Origin.Inbound.Answers; id != "" {
		w, err := ask.Read(ctx, c.Agent.Parts.JS, id)
		if err != nil && !errors.Is(err, ask.ErrNotWaiting) {
			c.Log().Warn().Err(err).Msg("look for a question of another run")
		}
		if err == nil && w.Kind != run.ForDelegate && !c.owns(w) {
			here = append(here, w)
		}
		return here
	}
	return c.OpenHere(it)
}

// OpenHere lists what other runs have asked where an input comes from.
func (c Reader) OpenHere(it *message.Item) []agents.Waiting {
	open := c.Agent.Parts.Asks.Open
	if open.Calm() {
		return nil
	}
	in := it.Origin.Inbound
	place := ask.With(it.Origin.Outbound(), message.Sender(in), in.Thread)
	if in.Group {
		place = ask.InChat(it.Origin.Outbound(), in.Chat, in.Thread)
	}
	fits := func(w agents.Waiting) bool { return !c.owns(w) && c.isWhere(w, it) }
	return c.ungiven(it, open.At(c.Agent.Work.Done(), fits, ask.InSession(c.Key), place))
}

// ungiven are those of asked that were not given another word of the sender a moment ago.
func (c Reader) ungiven(it *message.Item, asked []agents.Waiting) []agents.Waiting {
	if it.Stops() {
		return asked
	}
	return slices.DeleteFunc(asked, func(w agents.Waiting) bool {
		return c.Agent.Parts.Asks.Open.HasOther(w.ID, it.Input.ID, message.Sender(it.Origin.Inbound))
	})
}

// Give notes that an input is for the question under id: the next word is for another.
func (c Reader) Give(it *message.Item, id string) {
	c.Agent.Parts.Asks.Open.Give(id, it.Input.ID, message.Sender(it.Origin.Inbound))
}

// ofOthers are the questions of other agents in this chat, which each hear the input as well.
func (c Reader) ofOthers(it *message.Item) []agents.Waiting {
	if it.Delivery == nil || it.Origin.Inbound.Agent != "" {
		return nil
	}
	return c.ungiven(it, c.Agent.Parts.Asks.Open.OfOthers(c.Agent.ID, c.Key, it.Delivery.Stored))
}

// ForAnother reports whether the input answers the question of another agent in this chat,
// where r, which waits here, or a run that works for it has asked as well.
func (c Reader) ForAnother(it *message.Item, r *run.Run) bool {
	in := it.Origin.Inbound
	if in == nil || in.Answers != "" || it.Stops() || c.IsForItself(it) {
		return false
	}
	own, besides, others := c.askedBefore(it, c.open(r)), c.OpenHere(it), c.ofOthers(it)
	if len(own)+len(besides) == 0 {
		return false
	}
	call, _, ok := ask.Pick(c.Book(it), ask.InOrder(own, besides, others), in.Said(), in.Option() > 0)
	if !ok || !isOneOf(others, call) {
		return false
	}
	c.Give(it, call.ID)
	return true
}

// Misnumbered says why an input answers nothing, which has the number of a question of this
// chat that takes something else; nil when it has not.
func (c Reader) Misnumbered(it *message.Item, r *run.Run) *run.Error {
	in := it.Origin.Inbound
	if in == nil || in.Answers != "" || it.Stops() || c.IsForItself(it) {
		return nil
	}
	others := c.ofOthers(it)
	call, ok := ask.Misnumbered(c.Book(it), ask.InOrder(c.askedBefore(it, c.open(r)), c.OpenHere(it), others), in.Said())
	if !ok || isOneOf(others, call) {
		return nil
	}
	return c.NoAnswer(it, call.Asked, withNumber(call))
}

// MeantElsewhere picks the one of asked, questions of other runs, that the input answers.
// r is the run of this conversation that waits, nil where none does.
func (c Reader) MeantElsewhere(it *message.Item, r *run.Run, asked []agents.Waiting) (w agents.Waiting, answer run.Signal, ok bool) {
	book, in := c.Book(it), it.Origin.Inbound
	text := in.Said()
	var own []run.Call
	var others []agents.Waiting
	if in.Answers != "" && len(asked) == 1 {
		text = Words(in, asked[0].Options)
	} else if in.Answers == "" {
		others = c.ofOthers(it)
		if r != nil {
			own = c.askedBefore(it, c.open(r))
		}
	}
	call, answer, ok := ask.Pick(book, ask.InOrder(own, asked, others), text, in.Option() > 0)
	if !ok && len(own) == 0 {
		call, answer, ok = ask.Pick(book, ask.InOrder(nil, asked), text, in.Option() > 0)
	}
	i := slices.IndexFunc(asked, func(w agents.Waiting) bool { return w.ID == call.ID })
	if !ok || i < 0 {
		return agents.Waiting{}, answer, false
	}
	return asked[i], answer, true
}

func isOneOf(list []agents.Waiting, call run.Call) bool {
	return slices.ContainsFunc(list, func(w agents.Waiting) bool { return w.ID == call.ID })
}

// owns reports whether a run of this conversation waits.
func (c Reader) owns(w agents.Waiting) bool {
	return w.Agent == c.Agent.ID && w.Session == string(c.Key)
}

// isWhere reports whether a question was put where the input comes from. One
// that no conversation has led to only knows an address.
func (c Reader) isWhere(w agents.Waiting, it *message.Item) bool {
	if w.Notified && !it.Origin.Inbound.Group && it.IsFrom(w.Approvers) {
		return w.Agent == c.Agent.ID // one of the agents that the approver writes to takes the word
	}
	at := w.Origin
	if at == nil {
		return false
	}
	if at.Session != "" {
		return at.Agent == c.Agent.ID && at.Session == string(c.Key)
	}
	if at.Agent != "" && at.Agent != c.Agent.ID { // another agent that is in this chat has begun it
		return false
	}
	return it.IsAt(at)
}

// IsHere reports whether a question was put in the chat of the input, by whichever of
// the agents that are in it.
func (c Reader) IsHere(at *bus.Origin, it *message.Item) bool {
	if at == nil || at.Session == "" {
		return at != nil && it.IsAt(at)
	}
	return at.Subject == it.Origin.Outbound() && at.Session == string(c.Key)
}
