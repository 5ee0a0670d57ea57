// Package takeover turns the orders of operators into events of a session. An operator takes
// a chat over from its agent, writes in it, and hands it back.
package takeover

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// The reasons why an order of an operator is refused.
var (
	ErrNoChat     = errors.New("only the chat with a person or a group can be taken over")
	ErrNoAddress  = errors.New("the chat has no message yet, so it has no address")
	ErrNotTaken   = errors.New("the chat is not taken over; take it over first")
	ErrNothingSay = errors.New("there is nothing to say: the text is empty")
)

// Orders are those for one session.
type Orders struct {
	inflight.Session
	// Newest is the address of the last message that waits in the session; nil when no
	// message does.
	Newest func() *run.Address
}

// Event is what an order makes of a session that operator has taken over, nil if no operator
// has. replied is the last commit of the session with replies. The error is the reason why the
// order is refused.
func (o Orders) Event(it *message.Item, operator *run.Operator, replied uint64) (event run.Event, refused error) {
	route, now := it.Origin.Route, time.Now()
	in := &run.Input{ID: it.Input.ID, Subject: it.Input.Subject, Seq: it.Input.Seq}
	order := answers.OperatorOrder(it)
	switch {
	case order == ask.TakeOverToken:
		to, err := o.address(operator, replied)
		if err != nil {
			return event, err
		}
		return run.Joined(now, route.From, route.Door, in, to), nil
	case operator == nil:
		return event, ErrNotTaken
	case order == ask.HandBackToken:
		return run.Left(now, route.From, route.Door, in), nil
	case route.Text == "":
		return event, ErrNothingSay
	}
	reply, err := o.reply(it, operator)
	if err != nil {
		return event, err
	}
	return run.Said(now, route.From, route.Door, in, route.Text, reply), nil
}

// reply is what an operator writes: a reply to the open messages, or a notice if there are
// none.
func (o Orders) reply(it *message.Item, operator *run.Operator) (*run.Reply, error) {
	reply := &run.Reply{N: 1, Kind: run.KindNotice, Text: it.Origin.Route.Text}
	if len(operator.Open) > 0 {
		reply.Kind, reply.Final = run.KindReply, true
	}
	t := inflight.Run{Session: o.Session, ID: "operator-" + session.SID(o.Agent.ID+" "+it.Input.ID, o.Key)}
	t.Prepare([]*message.Item{it})
	return reply, t.AddressTo(reply, operator.Address, operator.Open)
}

// address is where the person is who has written last.
func (o Orders) address(operator *run.Operator, replied uint64) (run.Address, error) {
	if !o.Key.IsChat() || o.Agent.Now().Shadow() {
		return run.Address{}, ErrNoChat
	}
	if operator != nil {
		return operator.Address, nil
	}
	if at := o.Newest(); at != nil {
		return *at, nil
	}
	if replied == 0 {
		return run.Address{}, ErrNoAddress
	}
	said, err := o.Agent.Parts.Store.Said(o.Agent.Work, replied)
	if err != nil {
		return run.Address{}, err
	}
	for _, reply := range slices.Backward(said.Replies) {
		if out := (bus.Outbound{}); reply.Subject != "" && json.Unmarshal(reply.Envelope, &out) == nil {
			return run.Address{Subject: reply.Subject, To: out.To, Chat: out.Chat, Thread: out.Thread, ReplyTo: out.InReplyTo}, nil
		}
	}
	return run.Address{}, ErrNoAddress
}
