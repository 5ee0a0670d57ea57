package metrics

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// deadLetters are those that are stored, from 0 for each agent that there is.
type deadLetters struct {
	*prometheus.CounterVec
	agents func() iter.Seq[string]
}

// DeadLetters shows the count of dead letters by agent, 0 for an agent without any. The
// function agents lists the configured agents. Call DeadLetters once.
func (r *Registry) DeadLetters(agents func() iter.Seq[string]) {
	r.all.MustRegister(&deadLetters{r.messages.dead, agents})
}

// DeadLetter counts a dead letter that is stored.
func (r *Registry) DeadLetter(agent string) { r.messages.dead.WithLabelValues(agent).Inc() }

// Collect implements prometheus.Collector.
func (d *deadLetters) Collect(c chan<- prometheus.Metric) {
	for agent := range d.agents() {
		d.WithLabelValues(agent)
	}
	d.CounterVec.Collect(c)
}
