// Package message is what a message is once it is decoded: an input of a session, where it
// comes from and where its answer goes, what it says, and what of it hooks may change.
package message

import (
	"cmp"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/internal/erasure"
	"agenthost/run"
	"agenthost/session"
)

// An Origin is where an input comes from, and so where its answer goes. Either
// inbound or route is set.
type Origin struct {
	Inbound *bus.Inbound
	Route   *bus.Route
	Subject string // of the input
}

// ReadOrigin reads what an Input keeps. The payload was checked when it came.
func ReadOrigin(in run.Input) (Origin, error) {
	o := Origin{Subject: in.Subject}
	var err error
	if _, ok := bus.AgentOf(in.Subject); ok {
		o.Route = new(bus.Route)
		*o.Route, err = bus.ReadRoute(in.Envelope)
	} else {
		o.Inbound = new(bus.Inbound)
		*o.Inbound, err = bus.ReadInbound(in.Envelope)
	}
	if err != nil {
		return o, fmt.Errorf("read input %q: %w", in.ID, err)
	}
	return o, nil
}

// Key is the session that the input belongs to.
func (o Origin) Key(id string) session.Key {
	if o.Route != nil {
		switch o.Route.Kind {
		case bus.RouteDelegate, bus.RouteResult:
			return session.Route(o.Route.From, cmp.Or(o.Route.CorrelationID, id))
		case bus.RouteHeartbeat:
			return HeartbeatKey
		case bus.RouteSchedule:
			if o.Reminds() {
				return session.Key(o.Route.Origin.Session)
			}
		case bus.RouteEvent:
			return session.Event(cmp.Or(o.Route.From, bus.RouteEvent))
		}
		return session.Schedule(cmp.Or(o.Route.From, o.Route.Kind))
	}
	channel, instance, _ := bus.Channel(o.Subject)
	if o.Inbound.Group {
		return session.Group(channel, instance, o.Inbound.Chat, o.Inbound.Thread)
	}
	if bus.IsDoor(channel) && o.Inbound.Conversation != "" {
		return session.DM(channel, instance, o.Inbound.Conversation)
	}
	return session.DMConversation(channel, instance, Sender(o.Inbound), o.Inbound.Conversation)
}

// Reminds reports whether it is a reminder, which comes into the conversation in
// which it was made. Only hosts make those: a program cannot write into one.
func (o Origin) Reminds() bool {
	return o.Route != nil && o.Route.Kind == bus.RouteSchedule && o.Route.Origin != nil &&
		o.Route.Origin.Session != "" && o.Subject == bus.DuePrefix+o.Route.Origin.Agent
}

// Guest reports whether it comes by another stream than what its conversation is
// for: a reminder in a chat, and what a program sends where firings and ticks go.
// Its sequence says nothing beside theirs.
func (o Origin) Guest() bool {
	return o.Reminds() || o.Route != nil && !o.Due() && (o.Route.Kind == bus.RouteSchedule || o.Route.Kind == bus.RouteHeartbeat)
}

// ResultTo is the subject that a task names for its result; empty where it names none.
func (o Origin) ResultTo() string {
	if o.Route == nil || o.Route.Kind != bus.RouteDelegate {
		return ""
	}
	return o.Route.ReplyTo
}

// Due reports whether a host or the server's clock sent it, as only they can.
func (o Origin) Due() bool { return strings.HasPrefix(o.Subject, bus.DuePrefix) }

// Proactive reports whether it is a firing, a tick or an event whose
// answer is for a person who has not just asked.
func (o Origin) Proactive() bool {
	return o.Route != nil && o.Route.Origin != nil && o.Trigger() != run.ByMessage && o.Trigger() != run.ByDelegate
}

// Outbound is where what is said to the sender of an inbound message goes.
func (o Origin) Outbound() string {
	return bus.OutboundPrefix + strings.TrimPrefix(o.Subject, bus.InboundPrefix)
}

// SharesAnswer reports whether one answer reaches the senders of two inputs of a session. Accounts
// that are one session are each answered where they wrote.
func (o Origin) SharesAnswer(other Origin) bool {
	in, before := o.Inbound, other.Inbound
	if in == nil || before == nil || in.Group {
		return true
	}
	return o.Subject == other.Subject && Sender(in) == Sender(before)
}

// Address is where an operator answers an input with that id; nil: nowhere.
func (o Origin) Address(id string) *run.Address {
	if o.Inbound != nil {
		return &run.Address{Subject: o.Outbound(), To: Sender(o.Inbound), Chat: o.Inbound.Chat, Thread: o.Inbound.Thread, ReplyTo: id}
	}
	if at := o.Route.Origin; at != nil && strings.HasPrefix(at.Subject, bus.OutboundPrefix) {
		return &run.Address{Subject: at.Subject, To: at.To, Chat: at.Chat, Thread: at.Thread, ReplyTo: at.ReplyTo}
	}
	return nil
}

// Sent is what an erasure has to know of the input, which is one of a session of an agent.
func (o Origin) Sent(agent string, key session.Key, seq uint64) erasure.Message {
	m := erasure.Message{Agent: agent, Session: key, Subject: o.Subject, Stream: StreamOf(o.Subject), Seq: seq}
	if o.Inbound != nil {
		m.From = o.Inbound.From
	}
	return m
}

// Sender is the person who has sent a message.
func Sender(in *bus.Inbound) string { return cmp.Or(in.From, "anonymous") }

// Trigger is what kind of run the input starts.
func (o Origin) Trigger() run.Trigger {
	if o.Route == nil {
		return run.ByMessage
	}
	switch o.Route.Kind {
	case bus.RouteDelegate:
		return run.ByDelegate
	case bus.RouteSchedule:
		return run.BySchedule
	case bus.RouteHeartbeat:
		return run.ByHeartbeat
	default:
		return run.ByEvent
	}
}

// Quiet reports whether a reply is not worth telling: a heartbeat that has
// nothing to say, or that failed, which the next makes up for.
func (o Origin) Quiet(reply *run.Reply) bool {
	if o.Route == nil || o.Route.Kind != bus.RouteHeartbeat || Asks(reply.Kind) {
		return false
	}
	text := strings.TrimSpace(reply.Text)
	return reply.Error != nil || text == "" || text == run.Nothing
}

// Asks reports whether a reply of that kind is for a person even where the run
// works for an agent.
func Asks(kind string) bool { return kind == bus.KindApproval || kind == bus.KindQuestion }

// HeartbeatKey is the session of the runs that heartbeats begin.
const HeartbeatKey = session.Key("schedule/heartbeat")
