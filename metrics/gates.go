package metrics

import (
	"agenthost/llm"

	"github.com/prometheus/client_golang/prometheus"
)

// gates are the numbers of gates, read when they are asked for.
type gates struct {
	all func() []*llm.Gate

	breaker, parked, inFlight, waiting *prometheus.Desc
}

// Gates shows the gates of models from now on, as all returns them at the time;
// it is called once.
func (r *Registry) Gates(all func() []*llm.Gate) {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"entry"}, more...), nil)
	}
	r.all.MustRegister(&gates{
		all:      all,
		breaker:  desc("agenthost_model_breaker_state", "1 for the state that the breaker of a model is in, else 0.", "state"),
		parked:   desc("agenthost_model_parked_until_seconds", "When a model is asked again after a rate limit, in Unix time; 0 when it is not parked."),
		inFlight: desc("agenthost_model_in_flight", "Calls of a model under way."),
		waiting:  desc("agenthost_model_waiting", "Calls that wait for the rate or the concurrency of a model."),
	})
}

// Describe implements prometheus.Collector.
func (g *gates) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.breaker, g.parked, g.inFlight, g.waiting} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gates) Collect(c chan<- prometheus.Metric) {
	for _, gate := range g.all() {
		g.collect(c, gate.Name(), gate.Status())
	}
}

func (g *gates) collect(c chan<- prometheus.Metric, entry string, s llm.GateStatus) {
	gauge := func(d *prometheus.Desc, v float64, more ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{entry}, more...)...)
	}
	for _, state := range []llm.State{llm.Closed, llm.Open, llm.HalfOpen, llm.Tripped} {
		is := 0.0
		if s.Breaker == state {
			is = 1
		}
		gauge(g.breaker, is, string(state))
	}
	parked := 0.0
	if !s.Parked.IsZero() {
		parked = float64(s.Parked.UnixMilli()) / 1000
	}
	gauge(g.parked, parked)
	gauge(g.inFlight, float64(s.InFlight))
	gauge(g.waiting, float64(s.Waiting))
}
