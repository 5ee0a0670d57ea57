package bus

import "strings"

// The prefixes of the subjects that agents live on.
const (
	InboundPrefix  = "plugin.inbound."
	OutboundPrefix = "plugin.outbound."
	RoutePrefix    = "agent.route."
	DuePrefix      = "agent.due."      // what schedules and hosts bring to an agent at its time
	SchedulePrefix = "agent.schedule." // what the server publishes there later
	EventsPrefix   = "agent.events."
	StreamPrefix   = "agent.stream."
)

// Channel splits the subject of a plugin's message into channel and instance;
// the instance is empty for the bare subject.
func Channel(subject string) (channel, instance string, ok bool) {
	rest, ok := strings.CutPrefix(subject, InboundPrefix)
	if !ok {
		return "", "", false
	}
	channel, instance, _ = strings.Cut(rest, ".")
	return channel, instance, true
}

// AgentOf is the agent whose own subject it is, for what is routed to it or is due.
func AgentOf(subject string) (agent string, ok bool) {
	if agent, ok = strings.CutPrefix(subject, RoutePrefix); !ok {
		agent, ok = strings.CutPrefix(subject, DuePrefix)
	}
	return agent, ok
}

// HostSubject reports whether only hosts publish on subject: logs, what they tell of
// themselves, and timers. Streams keep all of it.
func HostSubject(subject string) bool {
	for _, prefix := range []string{"agent.session.", "agent.snapshot.", "agent.dead.", EventsPrefix, SchedulePrefix, DuePrefix} {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}

// StoredSubject reports whether what is published on subject is kept in a stream of
// ours; on any other subject a message reaches who listens, or nobody.
func StoredSubject(subject string) bool {
	agent, own := AgentOf(subject)
	return strings.HasPrefix(subject, InboundPrefix) || strings.HasPrefix(subject, OutboundPrefix) ||
		own && !strings.Contains(agent, ".") || strings.HasPrefix(subject, SchedulePrefix)
}
