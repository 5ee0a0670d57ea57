package conversation

import (
	"errors"
	"slices"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/takeover"
	"agenthost/agents/internal/tracing"
	"agenthost/bus/delivery"
	"agenthost/bus/publishing"
	"agenthost/run"
	"agenthost/session"
)

// An operator who takes a chat over gives orders by the agent's route: they are kept
// until the session's owner has them in its log. The order that comes during a run, or
// while one waits, ends it as an order to stop does, and is in the log with its end.
// Between runs an order is carried out here, before what people have written. What
// they write from then on is heard: it goes to the log and begins no run.

// ordersFirst moves the order of an operator before what people have written. Called
// with the lock held.
func (c *Conversation) ordersFirst() {
	i := slices.IndexFunc(c.Queue, func(it *message.Item) bool { return answers.OperatorOrder(it) != "" })
	if i > 0 && answers.OperatorOrder(c.Queue[0]) == "" {
		c.Shift(i, 0)
	}
}

// operate carries out an order of an operator between runs.
func (c *Conversation) operate(journal *session.Log, it *message.Item) error {
	event, refused := c.operated(journal, it)
	if refused != nil {
		c.Agent.Parts.Tell(it.Origin.Route, refused)
		it.Delivery.Done()
		c.proceed()
		return nil
	}
	if err := c.add(journal, event); err != nil {
		return err
	}
	out := &outbox.Batch{Trace: tracing.Of([]run.Input{it.Input}), End: func(stored bool) {
		if !stored {
			it.Delivery.Leave()
			return
		}
		c.Agent.Parts.Tell(it.Origin.Route, nil)
		c.settle([]*delivery.Delivery{it.Delivery})
	}}
	if event.Reply != nil {
		out.Replies = []*run.Reply{event.Reply}
	}
	c.out.Send(out)
	c.proceed()
	return nil
}

// operated is what an order of an operator makes of the session, or why it is refused.
func (c *Conversation) operated(journal *session.Log, it *message.Item) (event run.Event, refused error) {
	orders := takeover.Orders{Session: c.Session, Newest: c.addressInQueue}
	return orders.Event(it, journal.State().Operator, journal.Replied())
}

// addressInQueue is the address of the last message in the queue.
func (c *Conversation) addressInQueue() *run.Address {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range slices.Backward(c.Queue) {
		if it.Origin.Inbound != nil {
			return it.Origin.Address(it.Input.OwnID())
		}
	}
	return nil
}

// record writes the messages of people to the log while an operator has the chat. A message
// that a hook refuses is answered as always, and is not among those that it returns.
func (c *Conversation) record(journal *session.Log, items []*message.Item) (heard []*message.Item, err error) {
	items = c.leaveOutRefused(journal, "", items)
	now := time.Now()
	var events []run.Event
	for _, it := range items {
		s := c.Screen(c.Agent.Work, it, "")
		if s != nil && s.Refused != "" {
			c.refuse(journal, it, inflight.RefusedByHook(s.Refused))
			continue
		}
		it.Use(s)
		heard = append(heard, it)
		if it.Changes() { // the message that it edits says it
			events = append(events, run.Heard(now, it.Input, nil, nil))
			continue
		}
		said := it.Origin.Message()
		events = append(events, run.Heard(now, it.Input, &said, it.Origin.Address(it.Input.OwnID())))
	}
	if len(events) > 0 {
		if err := c.add(journal, events...); err != nil {
			return heard, err
		}
	}
	c.settle(message.DeliveriesOf(heard))
	c.proceed()
	return heard, nil
}

// add writes events that are no run's and waits until they are stored.
func (c *Conversation) add(journal *session.Log, events ...run.Event) error {
	stored := make(chan error, 1)
	journal.Add(c.Agent.Work, events, func(err error) { stored <- err })
	select {
	case err := <-stored:
		return err
	case <-c.Agent.Work.Done():
		return errStopping
	}
}

// endBetween deals with items whose commit between runs was not stored.
func (c *Conversation) endBetween(items []*message.Item, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errStopping), errors.Is(err, publishing.ErrClosed):
		message.LeaveAll(message.DeliveriesOf(items))
		c.leave()
	default:
		c.brokeOff(items, err)
	}
}
