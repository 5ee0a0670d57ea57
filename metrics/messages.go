package metrics

import "github.com/prometheus/client_golang/prometheus"

// messages are what agents take and answer, counted as it is stored.
type messages struct {
	inbound, runs, outbound, dead *prometheus.CounterVec
}

func newMessages() messages {
	return messages{
		inbound:  counter("agenthost_inbound_messages_total", "Messages of channels that were accepted into a session.", []string{"agent", "channel"}),
		runs:     counter("agenthost_runs_total", "Runs that have ended, by outcome.", []string{"agent", "outcome"}),
		outbound: counter("agenthost_outbound_messages_total", "Replies to channels that are stored, by kind.", []string{"agent", "channel", "kind"}),
		dead:     counter("agenthost_dead_letters_total", "Dead letters of agents that are stored.", []string{"agent"}),
	}
}

// collectors are all but dead, which DeadLetters shows.
func (m *messages) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.inbound, m.runs, m.outbound}
}

// InboundMessage counts a message of a channel that was accepted into a session.
func (r *Registry) InboundMessage(agent, channel string) {
	r.messages.inbound.WithLabelValues(agent, channel).Inc()
}

// RunEnded counts a run whose end is stored.
func (r *Registry) RunEnded(agent, outcome string) {
	r.messages.runs.WithLabelValues(agent, outcome).Inc()
}

// OutboundMessage counts a reply that is stored.
func (r *Registry) OutboundMessage(agent, channel, kind string) {
	r.messages.outbound.WithLabelValues(agent, channel, kind).Inc()
}
