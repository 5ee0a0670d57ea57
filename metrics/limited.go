package metrics

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// HandlerFor is Handler for who may see the agents that reaches says: without the
// numbers of other agents and their partitions, and of accounts of channels, of which is
// not known here whose they are.
func (r *Registry) HandlerFor(reaches func(agent string) bool) http.Handler {
	return promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := r.all.Gather()
		for _, family := range all {
			family.Metric = slices.DeleteFunc(family.Metric, func(m *dto.Metric) bool {
				return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return !visible(l, reaches) })
			})
		}
		return slices.DeleteFunc(all, func(family *dto.MetricFamily) bool { return len(family.Metric) == 0 }), err
	}), promhttp.HandlerOpts{})
}

// visible reports whether a number with a label is for who may see some agents.
func visible(l *dto.LabelPair, reaches func(agent string) bool) bool {
	switch l.GetName() {
	case "agent":
		return reaches(l.GetValue())
	case "lane": // a partition is <agent>/<number>
		agent, _, partition := strings.Cut(l.GetValue(), "/")
		return !partition || reaches(agent)
	case "instance":
		return false
	}
	return true
}
