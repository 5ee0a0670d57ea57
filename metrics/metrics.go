// Package metrics shows what a host does to Prometheus. Each file has the
// numbers of one topic; docs/metrics.md lists them all.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Registry holds the numbers of one host. Make one with New.
type Registry struct {
	all      *prometheus.Registry
	models   models
	messages messages
}

// New makes a Registry with the numbers of the process in it.
func New() *Registry {
	r := &Registry{all: prometheus.NewRegistry(), models: newModels(), messages: newMessages()}
	r.all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.all.MustRegister(r.models.collectors()...)
	r.all.MustRegister(r.messages.collectors()...)
	return r
}

// Handler serves the numbers as Prometheus reads them.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.all, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
