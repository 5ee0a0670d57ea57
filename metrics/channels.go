package metrics

import (
	"time"

	"agenthost/client"

	"github.com/prometheus/client_golang/prometheus"
)

// accounts are the numbers of the accounts of channels, read when they are asked
// for.
type accounts struct {
	all func() []client.AccountStatus

	owned, connected, in, out, retries, dead, waiting, oldest *prometheus.Desc
}

// Channels shows the accounts of channels from now on, as all returns them at the
// time; it is called once.
func (r *Registry) Channels(all func() []client.AccountStatus) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("agenthost_channel_"+name, help, []string{"channel", "instance"}, nil)
	}
	r.all.MustRegister(&accounts{
		all:       all,
		owned:     desc("owned", "1 when this host owns the account, else 0."),
		connected: desc("connected", "1 when this host owns the account and is logged in, else 0."),
		in:        desc("inbound_messages_total", "Messages that were taken on the account."),
		out:       desc("outbound_messages_total", "Replies that were delivered."),
		retries:   desc("delivery_retries_total", "Deliveries that failed and were tried again."),
		dead:      desc("undeliverable_total", "Replies that became dead letters."),
		waiting:   desc("waiting_messages", "Replies that are not delivered, on the host that owns the account."),
		oldest:    desc("oldest_waiting_seconds", "How long the oldest of these replies has waited."),
	})
}

// Describe implements prometheus.Collector.
func (a *accounts) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{a.owned, a.connected, a.in, a.out, a.retries, a.dead, a.waiting, a.oldest} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (a *accounts) Collect(c chan<- prometheus.Metric) {
	for _, s := range a.all() {
		number := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
			c <- prometheus.MustNewConstMetric(d, kind, v, s.Channel, s.Instance)
		}
		number(a.owned, prometheus.GaugeValue, truth(s.Owns))
		number(a.connected, prometheus.GaugeValue, truth(!s.Connected.IsZero()))
		number(a.in, prometheus.CounterValue, float64(s.In))
		number(a.out, prometheus.CounterValue, float64(s.Out))
		number(a.retries, prometheus.CounterValue, float64(s.Retries))
		number(a.dead, prometheus.CounterValue, float64(s.Dead))
		number(a.waiting, prometheus.GaugeValue, float64(s.Waiting))
		oldest := 0.0
		if !s.Oldest.IsZero() {
			oldest = time.Since(s.Oldest).Seconds()
		}
		number(a.oldest, prometheus.GaugeValue, oldest)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
