package metrics

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// perAgent is a number of each agent, read when it is asked for.
type perAgent struct {
	all    func() iter.Seq2[string, int]
	number *prometheus.Desc
}

func (r *Registry) perAgent(name, help string, all func() iter.Seq2[string, int]) {
	r.all.MustRegister(&perAgent{all, prometheus.NewDesc(name, help, []string{"agent"}, nil)})
}

// Suspects shows from now on how many runs of each agent wait to be tried again, as
// all says at the time; it is called once.
func (r *Registry) Suspects(all func() iter.Seq2[string, int]) {
	r.perAgent("agenthost_suspects_waiting", "Runs that may have ended their host and wait to be tried again.", all)
}

// Open shows from now on how many approvals and questions of each agent wait for a person, as
// the two say at the time; it is called once.
func (r *Registry) Open(approvals, questions func() iter.Seq2[string, int]) {
	r.perAgent("agenthost_approvals_open", "Approvals that wait for a person, on the host that serves the agent's lane.", approvals)
	r.perAgent("agenthost_questions_open", "Questions that wait for a person, on the host that serves the agent's lane.", questions)
}

// Describe implements prometheus.Collector.
func (p *perAgent) Describe(c chan<- *prometheus.Desc) { c <- p.number }

// Collect implements prometheus.Collector.
func (p *perAgent) Collect(c chan<- prometheus.Metric) {
	for agent, n := range p.all() {
		c <- prometheus.MustNewConstMetric(p.number, prometheus.GaugeValue, float64(n), agent)
	}
}
