package control

import (
	"context"

	"agenthost/client"
)

// client asks the fleet that this host is part of. What it does is written into the
// audit log by the operation.
func (h Host) client() *client.Client {
	return client.New(h.NC, h.JS, client.Options{Unrecorded: true})
}

// clientFor is client for what other hosts do for a caller.
func (h Host) clientFor(c Caller) *client.Client {
	return client.New(h.NC, h.JS, client.Options{Unrecorded: true, Door: c.door(), By: c.by("")})
}

// A RunListing is the runs of the fleet, the oldest first.
type RunListing struct {
	Runs []client.Run   `json:"runs"`
	More map[string]int `json:"more,omitempty"` // by host, how many more it has than it reports
}

func (h Host) allRuns(ctx context.Context, asked byAgent) (RunListing, error) {
	list, err := h.client().Runs(ctx)
	out := RunListing{Runs: []client.Run{}, More: list.More}
	for _, r := range seen(ctx, list.Runs, func(r client.Run) string { return r.Agent }) {
		if asked.keeps(r.Agent) {
			out.Runs = append(out.Runs, r)
		}
	}
	if callerOf(ctx).limited() {
		out.More = nil
	}
	return out, err
}

// A ChannelListing is the accounts of channels of the fleet.
type ChannelListing struct {
	Channels []client.ChannelAccount `json:"channels"`
}

func (h Host) allChannels(ctx context.Context, asked byAgent) (ChannelListing, error) {
	all, err := h.client().Channels(ctx)
	list := ChannelListing{Channels: []client.ChannelAccount{}}
	for _, a := range all {
		visible := seen(ctx, a.Agents, func(id string) string { return id })
		if len(visible) == 0 && (callerOf(ctx).limited() || asked.Agent != "") {
			continue
		}
		if a.Agents = visible; asked.Agent == "" || len(seenOnly(visible, asked)) > 0 {
			list.Channels = append(list.Channels, a)
		}
	}
	return list, err
}

func seenOnly(ids []string, asked byAgent) (kept []string) {
	for _, id := range ids {
		if asked.keeps(id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// A ModelListing is the models of all hosts.
type ModelListing struct {
	Models []client.HostModel `json:"models"`
}

func (h Host) models(ctx context.Context, _ none) (ModelListing, error) {
	list, err := h.client().Models(ctx)
	return ModelListing{notNil(list)}, err
}

// A BreakerReport is the breakers of a model on all hosts.
type BreakerReport struct {
	Models []client.HostModel `json:"models"`
	Missed []string           `json:"missed,omitempty"` // hosts that did not do it
}

// setBreaker is breaker on all hosts.
func (h Host) setBreaker(ctx context.Context, o breakerOrder) (BreakerReport, error) {
	all := h.clientFor(callerOf(ctx))
	set := map[string]func(context.Context, string) (client.Breaker, error){"trip": all.TripModel, "reset": all.ResetModel}[o.Action]
	if set == nil {
		return BreakerReport{}, coded(client.CodeBad, "action is %q; want trip or reset", o.Action)
	}
	b, err := set(ctx, o.Model)
	return BreakerReport{notNil(b.Models), b.Missed}, err
}

// A ReloadReport is what came of reading the configuration again, on all hosts.
type ReloadReport struct {
	Hosts []client.Reloaded `json:"hosts"`
}

func (h Host) reloadAll(ctx context.Context, _ none) (ReloadReport, error) {
	hosts, err := h.client().EveryHost(ctx)
	if err != nil {
		return ReloadReport{}, err
	}
	list, err := h.clientFor(callerOf(ctx)).Reload(ctx, hosts)
	return ReloadReport{notNil(list)}, err
}

// A FleetHost is a host of the fleet, and its load.
type FleetHost struct {
	Host    string `json:"host"`
	Version string `json:"version"`
	State   string `json:"state"`
	Started string `json:"started"`
	Serving int    `json:"serving"` // lanes that it serves
	Lanes   int    `json:"lanes"`   // lanes that it could
	Weight  int    `json:"weight"`  // its share of the lanes beside those of other hosts
	Share   int    `json:"share"`   // how many lanes it is to serve, by their numbers
	Placed  []int  `json:"placed"`  // the numbers of those that it serves, or would if anything came
	// Serves are the lanes that it serves.
	Serves []client.LaneStatus `json:"serves"`
	// Partitions are those of hot agents that it serves.
	Partitions []client.PartitionStatus `json:"partitions"`
	Agents     int                      `json:"agents"`
	// The load over the agents of the host.
	Sessions int   `json:"sessions"`
	Running  int   `json:"running"`
	Queued   int64 `json:"queued"`
}

// A FleetReport is the hosts of the fleet.
type FleetReport struct {
	Hosts []FleetHost `json:"hosts"`
}

func (h Host) allHosts(ctx context.Context, _ none) (FleetReport, error) {
	hosts, err := h.statuses(ctx, none{})
	report := FleetReport{Hosts: []FleetHost{}}
	for _, s := range hosts {
		one := FleetHost{
			Host: s.Host, Version: s.Version, State: s.State, Started: s.Started.UTC().Format("2006-01-02T15:04:05Z07:00"),
			Serving: s.Serving, Lanes: s.Lanes, Agents: len(s.Agents),
			Weight: s.Weight, Share: s.Share, Placed: append([]int{}, s.Placed...), Serves: notNil(s.Serves), Partitions: notNil(s.Partitions),
		}
		for _, a := range s.Agents {
			one.Sessions, one.Running, one.Queued = one.Sessions+a.Sessions, one.Running+a.Running, one.Queued+a.Queued
		}
		report.Hosts = append(report.Hosts, one)
	}
	return report, err
}
