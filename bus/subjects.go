package bus

import "strings"

// The prefixes of the subjects that agents live on.
const (
	InboundPrefix  = "plugin.inbound."
	OutboundPrefix = "plugin.outbound."
	RoutePrefix    = "agent.route."
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

// HostSubject reports whether only hosts publish on subject: logs, what they tell of
// themselves, and timers. Streams keep all of it.
func HostSubject(subject string) bool {
	for _, prefix := range []string{"agent.session.", "agent.snapshot.", "agent.dead.", EventsPrefix, "agent.schedule."} {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}

// StoredSubject reports whether what is published on subject is kept in a stream of
// ours; on any other subject a message reaches who listens, or nobody.
func StoredSubject(subject string) bool {
	agent, route := strings.CutPrefix(subject, RoutePrefix)
	return strings.HasPrefix(subject, InboundPrefix) || strings.HasPrefix(subject, OutboundPrefix) ||
		route && !strings.Contains(agent, ".") || strings.HasPrefix(subject, "agent.schedule.")
}
