package bus

import (
	"strconv"
	"strings"
	"unicode"
)

// The prefixes of the subjects that agents live on.
const (
	InboundPrefix  = "plugin.inbound."
	OutboundPrefix = "plugin.outbound."
	RoutePrefix    = "agent.route."
	PartPrefix     = "agent.part."     // what the host of an agent hands on to its partitions
	DuePrefix      = "agent.due."      // what schedules and hosts bring to an agent at its time
	SchedulePrefix = "agent.schedule." // what the server publishes there later
	EventsPrefix   = "agent.events."
	AuditPrefix    = "agent.audit." // what operators have done
	StreamPrefix   = "agent.stream."
	OwnerPrefix    = "agent.owner." // has the server choose the host that owns an account
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

// PartSubject is where the host of an agent hands on what is for one of its partitions.
func PartSubject(agent string, n int) string { return PartPrefix + agent + "." + strconv.Itoa(n) }

// HostSubject reports whether only hosts publish on subject: logs, what they report
// about themselves, and timers. Streams keep all of it.
func HostSubject(subject string) bool {
	for _, prefix := range []string{"agent.session.", "agent.snapshot.", "agent.dead.", OwnerPrefix, EventsPrefix, AuditPrefix, SchedulePrefix, DuePrefix, PartPrefix} {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}

// StoredSubject reports whether what is published on subject is kept in a stream of
// ours; on any other subject a message reaches the subscribers of that moment, if any.
func StoredSubject(subject string) bool {
	agent, own := AgentOf(subject)
	return strings.HasPrefix(subject, InboundPrefix) || strings.HasPrefix(subject, OutboundPrefix) ||
		own && !strings.Contains(agent, ".") || strings.HasPrefix(subject, SchedulePrefix)
}

// LongestSubject is how many bytes a subject may have that the words of a stranger stand
// in. NATS takes a line of more than 4,096 bytes for a broken client, and the connection
// that it closes then is not made again.
const LongestSubject = 2 << 10

// maxSubject keeps a foreign subject far below what the server takes for a
// broken client, whose connection it closes.
const maxSubject = 255

// Publishable reports whether the host may publish on a subject that a stranger has
// named: one without wildcards, empty tokens and white space, outside of what the
// host, its agents, channels and the server have for themselves. There a message
// would count as the host's own word. Subjects are case-sensitive.
func Publishable(subject string) bool { return wellFormed(subject) && !reserved(subject) }

func wellFormed(subject string) bool {
	if len(subject) > maxSubject || strings.ContainsFunc(subject, unfit) {
		return false
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" {
			return false
		}
	}
	return true
}

func unfit(r rune) bool { return r == '*' || r == '>' || r == 0x7f || unicode.IsSpace(r) || r < ' ' }

func reserved(subject string) bool {
	if strings.HasPrefix(subject, "$") {
		return true
	}
	first, _, more := strings.Cut(subject, ".")
	return more && (first == "agenthost" || first == "agent" || first == "plugin")
}

// ResultSubject reports whether the result of a task may go to a subject that the
// task names: a Publishable one, or the route of an agent.
func ResultSubject(subject string) bool {
	agent, ok := strings.CutPrefix(subject, RoutePrefix)
	return Publishable(subject) || ok && !strings.Contains(agent, ".") && Publishable(agent)
}

// ReplySubject reports whether what a run says may go to subject: its channel's, or
// where the result of a task may go.
func ReplySubject(subject string) bool {
	return chatSubject(subject) || ResultSubject(subject)
}

// chatSubject reports whether subject may be where a person is.
func chatSubject(subject string) bool {
	return strings.HasPrefix(subject, OutboundPrefix) && wellFormed(subject) || Publishable(subject)
}
