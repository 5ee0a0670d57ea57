package metrics

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// suspects are the runs that wait for their turn, read when they are asked for.
type suspects struct {
	all     func() iter.Seq2[string, int]
	waiting *prometheus.Desc
}

// Suspects shows from now on how many runs of each agent wait to be tried again, as
// all says at the time; it is called once.
func (r *Registry) Suspects(all func() iter.Seq2[string, int]) {
	r.all.MustRegister(&suspects{all, prometheus.NewDesc(
		"agenthost_suspects_waiting", "Runs that may have ended their host and wait to be tried again.", []string{"agent"}, nil,
	)})
}

// Describe implements prometheus.Collector.
func (s *suspects) Describe(c chan<- *prometheus.Desc) { c <- s.waiting }

// Collect implements prometheus.Collector.
func (s *suspects) Collect(c chan<- prometheus.Metric) {
	for agent, n := range s.all() {
		c <- prometheus.MustNewConstMetric(s.waiting, prometheus.GaugeValue, float64(n), agent)
	}
}
