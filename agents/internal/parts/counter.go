package parts

import (
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/run"
)

// A Counter counts what agents do. Its methods must not block.
type Counter interface {
	// InboundMessage counts a message of a channel that was accepted into a session.
	InboundMessage(agent, channel string)
	// RunEnded counts a run whose end is stored.
	RunEnded(agent, outcome string)
	// OutboundMessage counts a reply that is stored.
	OutboundMessage(agent, channel, kind string)
	// DeadLetter counts a dead letter that is stored.
	DeadLetter(agent string)
}

// OtherChannel stands for all channels that an agent is not bound to: tasks may name any.
const OtherChannel = "other"

// CountInbound counts a message that was accepted into a session, unless it has come before.
func (p *Parts) CountInbound(agent string, it *message.Item) {
	if channel, _, ok := bus.Channel(it.Origin.Subject); ok && p.Counter != nil && !it.Tried {
		p.Counter.InboundMessage(agent, channel)
	}
}

// CountRun counts the run that events end, if they end one.
func (p *Parts) CountRun(agent string, events []run.Event) {
	if p.Counter == nil {
		return
	}
	for i := range events {
		if events[i].Type == run.Finished {
			p.Counter.RunEnded(agent, string(events[i].Outcome))
		}
	}
}

// CountOutbound counts a reply to a channel that is stored.
func (p *Parts) CountOutbound(agent string, now *profile.Profile, reply *run.Reply) {
	place, ok := strings.CutPrefix(reply.Subject, bus.OutboundPrefix)
	if !ok || p.Counter == nil {
		return
	}
	channel, _, _ := strings.Cut(place, ".")
	if !bus.IsDoor(channel) && !slices.ContainsFunc(now.Config.Channels, func(b agents.Binding) bool { return b.Channel == channel }) {
		channel = OtherChannel
	}
	p.Counter.OutboundMessage(agent, channel, reply.Kind)
}

// countDead counts a dead letter that is stored.
func (p *Parts) countDead(agent string) {
	if p.Counter != nil {
		p.Counter.DeadLetter(agent)
	}
}
