package engine

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
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

// The reasons why an order of an operator is refused.
var (
	errNoChat     = errors.New("only the chat with a person or a group can be taken over")
	errNobody     = errors.New("nobody has written here yet, so nobody can be written to")
	errNotTaken   = errors.New("nobody has taken this chat over; do that first")
	errNothingSay = errors.New("there is nothing to say: the text is empty")
)

// ordersFirst moves the order of an operator before what people have written. Called
// with the lock held.
func (c *conversation) ordersFirst() {
	i := slices.IndexFunc(c.Queue, func(it *message.Item) bool { return answers.OperatorOrder(it) != "" })
	if i > 0 && answers.OperatorOrder(c.Queue[0]) == "" {
		c.Shift(i, 0)
	}
}

// operate carries out an order of an operator between runs.
func (c *conversation) operate(journal *session.Log, it *message.Item) error {
	event, refused := c.operated(journal, it)
	if refused != nil {
		c.r.parts.Tell(it.Origin.Route, refused)
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
		c.r.parts.Tell(it.Origin.Route, nil)
		c.settle([]*delivery.Delivery{it.Delivery})
	}}
	if event.Reply != nil {
		out.Replies = []*run.Reply{event.Reply}
	}
	c.send(out)
	c.proceed()
	return nil
}

// operated is what an order of an operator makes of the session, or why it is refused.
func (c *conversation) operated(journal *session.Log, it *message.Item) (event run.Event, refused error) {
	route, now := it.Origin.Route, time.Now()
	in := &run.Input{ID: it.Input.ID, Subject: it.Input.Subject, Seq: it.Input.Seq}
	operator := journal.State().Operator
	order := answers.OperatorOrder(it)
	switch {
	case order == ask.TakeOverToken:
		to, err := c.lastAddress(journal)
		if err != nil {
			return event, err
		}
		return run.Joined(now, route.From, route.Door, in, to), nil
	case operator == nil:
		return event, errNotTaken
	case order == ask.HandBackToken:
		return run.Left(now, route.From, route.Door, in), nil
	case route.Text == "":
		return event, errNothingSay
	}
	reply, err := c.operatorReply(it, operator)
	if err != nil {
		return event, err
	}
	return run.Said(now, route.From, route.Door, in, route.Text, reply), nil
}

// operatorReply is what an operator writes, as a reply to what is open, else a notice.
func (c *conversation) operatorReply(it *message.Item, operator *run.Operator) (*run.Reply, error) {
	reply := &run.Reply{N: 1, Kind: run.KindNotice, Text: it.Origin.Route.Text}
	if len(operator.Open) > 0 {
		reply.Kind, reply.Final = run.KindReply, true
	}
	t := c.newRunner(nil, "operator-"+session.SID(it.Input.ID, c.Key), []*message.Item{it})
	return reply, t.AddressTo(reply, operator.Address, operator.Open)
}

// lastAddress is that of whoever has written last.
func (c *conversation) lastAddress(journal *session.Log) (run.Address, error) {
	if !c.Key.IsChat() || c.r.now().Shadow() {
		return run.Address{}, errNoChat
	}
	if operator := journal.State().Operator; operator != nil {
		return operator.Address, nil
	}
	if at := c.addressInQueue(); at != nil {
		return *at, nil
	}
	if seq := journal.Replied(); seq > 0 {
		said, err := c.r.parts.Store.Said(c.r.agent.Work, seq)
		if err != nil {
			return run.Address{}, err
		}
		for _, reply := range slices.Backward(said.Replies) {
			if out := (bus.Outbound{}); reply.Subject != "" && json.Unmarshal(reply.Envelope, &out) == nil {
				return run.Address{Subject: reply.Subject, To: out.To, Chat: out.Chat, Thread: out.Thread, ReplyTo: out.InReplyTo}, nil
			}
		}
	}
	return run.Address{}, errNobody
}

func (c *conversation) addressInQueue() *run.Address {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range slices.Backward(c.Queue) {
		if it.Origin.Inbound != nil {
			return it.Origin.Address(it.Input.ID)
		}
	}
	return nil
}

// hear writes down what people say while an operator has the chat. What a hook refuses
// is answered as ever.
func (c *conversation) hear(journal *session.Log, items []*message.Item) error {
	now := time.Now()
	var events []run.Event
	var heard []*message.Item
	for _, it := range items {
		s := c.Screen(c.r.agent.Work, it, "")
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
		events = append(events, run.Heard(now, it.Input, &said, it.Origin.Address(it.Input.ID)))
	}
	if len(events) > 0 {
		if err := c.add(journal, events...); err != nil {
			return err
		}
	}
	c.settle(message.DeliveriesOf(heard))
	c.proceed()
	return nil
}

// add writes events that are no run's and waits until they are stored.
func (c *conversation) add(journal *session.Log, events ...run.Event) error {
	stored := make(chan error, 1)
	journal.Add(c.r.agent.Work, events, func(err error) { stored <- err })
	select {
	case err := <-stored:
		return err
	case <-c.r.agent.Work.Done():
		return errStopping
	}
}

// endBetween deals with items whose commit between runs was not stored.
func (c *conversation) endBetween(items []*message.Item, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errStopping), errors.Is(err, publishing.ErrClosed):
		message.LeaveAll(message.DeliveriesOf(items))
		c.leave()
	default:
		c.brokeOff(items, err)
	}
}
