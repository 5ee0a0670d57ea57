package metrics

import (
	"agenthost/llm"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/puzpuzpuz/xsync/v3"
)

// models are the numbers of attempts, kept as they end.
type models struct {
	attempts *prometheus.CounterVec
	skips    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	bound    *xsync.MapOf[labels, *series]
}

// labels identify a series of attempts.
type labels struct{ agent, provider, model string }

func newModels() models {
	which := []string{"agent", "provider", "model"}
	return models{
		attempts: counter("agenthost_model_attempts_total", "Calls of models, by the code they ended with; ok for those that finished.", append(which, "code")),
		skips:    counter("agenthost_model_skips_total", "Models that were passed over, by reason.", append(which, "reason")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "agenthost_model_duration_seconds", Help: "How long calls of models took to their last word.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300},
		}, which),
		tokens: counter("agenthost_model_tokens_total", "Tokens by class; input holds cache_read and cache_write, output holds reasoning.", append(which, "class")),
		cost:   counter("agenthost_model_cost_microcents_total", "What calls of models have cost, where that is known; a dollar is 100000000.", which),
		bound:  xsync.NewMapOf[labels, *series](),
	}
}

func counter(name, help string, labels []string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *models) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.skips, m.duration, m.tokens, m.cost}
}

// A series is what is bound once for an agent and a model.
type series struct {
	ok       prometheus.Counter
	duration prometheus.Observer
	tokens   [classes]prometheus.Counter
	cost     prometheus.Counter
}

// The classes of tokens, in the order of counts.
const classes = 5

var classNames = [classes]string{"input", "output", "cache_read", "cache_write", "reasoning"}

func counts(u llm.Usage) [classes]int64 {
	return [classes]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning}
}

// Attempt counts what an agent has asked a model.
func (r *Registry) Attempt(agent string, a llm.Attempt) {
	m := &r.models
	if a.Skipped != "" {
		m.skips.WithLabelValues(agent, a.Provider, a.Model, string(a.Skipped)).Inc()
		return
	}
	s, _ := m.bound.LoadOrCompute(labels{agent, a.Provider, a.Model}, func() *series { return m.bind(agent, a) })
	if code := a.Code(); code == "" {
		s.ok.Inc()
	} else {
		m.attempts.WithLabelValues(agent, a.Provider, a.Model, string(code)).Inc()
	}
	s.duration.Observe(a.Took.Seconds())
	for i, n := range counts(a.Usage) {
		if n > 0 {
			s.tokens[i].Add(float64(n))
		}
	}
	s.cost.Add(float64(a.Cost))
}

func (m *models) bind(agent string, a llm.Attempt) *series {
	s := &series{
		ok:       m.attempts.WithLabelValues(agent, a.Provider, a.Model, "ok"),
		duration: m.duration.WithLabelValues(agent, a.Provider, a.Model),
		cost:     m.cost.WithLabelValues(agent, a.Provider, a.Model),
	}
	for i, class := range classNames {
		s.tokens[i] = m.tokens.WithLabelValues(agent, a.Provider, a.Model, class)
	}
	return s
}
