package agents

import (
	"encoding/json"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// StopMessage is the order to stop the run of a session, under way or waiting.
// Whoever serves the agent carries it out; replyTo, when it is not empty, is
// told what became of it.
func StopMessage(agent string, key session.Key, by, reason, replyTo string) (*nats.Msg, error) {
	return StopMessageBy(bus.DoorAPI, agent, key, by, reason, replyTo)
}

// StopMessageBy is StopMessage by another door. A host takes it only when it is signed
// by a signing.Signer.
func StopMessageBy(door, agent string, key session.Key, by, reason, replyTo string) (*nats.Msg, error) {
	return orderMessage(ask.StopToken, agent, key, bus.Route{From: by, Text: reason, ReplyTo: replyTo, Door: door})
}

// An OperatorOrder is what an operator wants done with a chat.
type OperatorOrder string

// The orders of an operator.
const (
	OrderTakeOver OperatorOrder = ask.TakeOverToken // no run begins any more, and the one under way ends
	OrderSay      OperatorOrder = ask.SayToken      // a text goes to whoever has written last
	OrderHandBack OperatorOrder = ask.HandBackToken // the agent answers again
)

// OperatorMessage is an order for the chat of a session, given by a person at a door. A
// host takes it only when it is signed by a signing.Signer; replyTo, when it is not
// empty, is told what became of it.
func OperatorMessage(order OperatorOrder, door, agent string, key session.Key, by, text, replyTo string) (*nats.Msg, error) {
	return orderMessage(string(order), agent, key, bus.Route{From: by, Text: text, ReplyTo: replyTo, Door: door})
}

// orderMessage is an order for a session, whatever it is doing.
func orderMessage(token, agent string, key session.Key, order bus.Route) (*nats.Msg, error) {
	order.ID, order.Kind = nuid.Next(), bus.RouteResult
	order.CorrelationID = agent + "." + session.SID(agent, key) + "." + token
	msg, err := bus.NewMessage(bus.RoutePrefix+agent, order)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, order.ID)
	msg.Header.Set(bus.SessionKeyHeader, string(key))
	return msg, nil
}

// AnswerMessage is the answer to a call that waits, by another door than its
// chat.
func AnswerMessage(w Waiting, by, text, scope, replyTo string) (*nats.Msg, error) {
	return AnswerMessageBy(bus.DoorAPI, w, by, text, scope, replyTo)
}

// AnswerMessageBy is AnswerMessage by another door. A host takes it only when it is
// signed by a signing.Signer.
func AnswerMessageBy(door string, w Waiting, by, text, scope, replyTo string) (*nats.Msg, error) {
	return w.Answer(bus.Route{ID: nuid.Next(), From: by, Text: text, Scope: scope, ReplyTo: replyTo, Door: door})
}

// WithArgs is an answer that approves a call with other arguments.
func WithArgs(answer *nats.Msg, args json.RawMessage) (*nats.Msg, error) {
	route := bus.Route{}
	err := json.Unmarshal(answer.Data, &route)
	if err == nil {
		route.Args = args
		answer.Data, err = json.Marshal(route)
	}
	return answer, err
}
