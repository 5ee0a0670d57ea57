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

// DeadLetters shows how many dead letters there are of each agent, also of those of which
// there are none, as agents names them at the time; it is called once.
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
