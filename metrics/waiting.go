package metrics

import (
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// lags are how many messages of each lane are not done, read when they are asked for.
type lags struct {
	all func() iter.Seq2[string, uint64]
	lag *prometheus.Desc
}

// Lanes shows from now on the lag of each lane, as all says at the time; it is called once.
func (r *Registry) Lanes(all func() iter.Seq2[string, uint64]) {
	r.all.MustRegister(&lags{all, prometheus.NewDesc(
		"agenthost_lane_lag", "Messages of a lane that this host serves that are not done.", []string{"lane"}, nil,
	)})
}

// Describe implements prometheus.Collector.
func (l *lags) Describe(c chan<- *prometheus.Desc) { c <- l.lag }

// Collect implements prometheus.Collector.
func (l *lags) Collect(c chan<- prometheus.Metric) {
	for lane, n := range l.all() {
		c <- prometheus.MustNewConstMetric(l.lag, prometheus.GaugeValue, float64(n), lane)
	}
}

// waits are the ages of the oldest waiting messages, read when they are asked for.
type waits struct {
	all    func() iter.Seq2[string, time.Duration]
	oldest *prometheus.Desc
}

// OldestWaiting shows from now on how long the oldest message of each agent has waited, as
// all says at the time; it is called once.
func (r *Registry) OldestWaiting(all func() iter.Seq2[string, time.Duration]) {
	r.all.MustRegister(&waits{all, prometheus.NewDesc(
		"agenthost_oldest_waiting_seconds", "Age of the oldest message that waits for its turn on this host.", []string{"agent"}, nil,
	)})
}

// Describe implements prometheus.Collector.
func (w *waits) Describe(c chan<- *prometheus.Desc) { c <- w.oldest }

// Collect implements prometheus.Collector.
func (w *waits) Collect(c chan<- prometheus.Metric) {
	for agent, waited := range w.all() {
		c <- prometheus.MustNewConstMetric(w.oldest, prometheus.GaugeValue, waited.Seconds(), agent)
	}
}
