package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/agents/engine"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

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

// A DrainOrder names the host that is to end.
type DrainOrder struct {
	Host string `json:"host"`
	By   string `json:"by,omitempty"`
}

// drain has this host end, if it is meant. Another host of that name answers itself.
func (h Host) drain(ctx context.Context, o DrainOrder) error {
	if o.Host != h.Name {
		_, err := h.client().Host(ctx, o.Host)
		return cmp.Or(err, errElsewhere)
	}
	h.Log.Info().Str("by", callerOf(ctx).by(o.By)).Msg("drain: what this host serves moves to others, then it ends")
	h.Drain()
	return nil
}

// drainHost has a host of the fleet end.
func (h Host) drainHost(ctx context.Context, o DrainOrder) error {
	err := h.clientFor(callerOf(ctx)).Drain(ctx, o.Host)
	if isUnknown(err) {
		err = coded(client.CodeNotFound, "%w", err)
	}
	return err
}

// statuses is the status of every host, with the agents that the caller may see.
func (h Host) statuses(ctx context.Context, _ none) ([]client.Status, error) {
	hosts, err := h.client().EveryHost(ctx)
	spent := h.spentBySeen(ctx)
	for i := range hosts {
		hosts[i].Agents = seen(ctx, hosts[i].Agents, func(a client.AgentStatus) string { return a.ID })
		var asked []client.ModelStatus
		for _, m := range hosts[i].Models {
			if asks(ctx, &m) {
				spent.show(&m)
				asked = append(asked, m)
			}
		}
		hosts[i].Models = asked
		hosts[i].Partitions = seen(ctx, hosts[i].Partitions, func(p client.PartitionStatus) string { return p.Agent })
		if callerOf(ctx).limited() {
			hosts[i].ToolFaults, hosts[i].Refused = nil, nil
		}
	}
	return notNil(hosts), err
}

// servedWithin is how long the next host has to say what it serves.
const servedWithin = time.Second

// ServedBy asks all hosts of the fleet, this one included, what they serve.
func ServedBy(ctx context.Context, nc *nats.Conn) (engine.Served, error) {
	served := engine.Served{}
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return served, fmt.Errorf("ask hosts: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(client.StatusSubject, sub.Subject, nil); err != nil {
		return served, fmt.Errorf("ask hosts: %w", err)
	}
	for {
		status, err := nextHost(ctx, sub)
		switch {
		case ctx.Err() != nil:
			return served, fmt.Errorf("ask hosts: %w", context.Cause(ctx))
		case errors.Is(err, context.DeadlineExceeded) && served.Hosts > 0:
			return served, nil
		case err != nil:
			return served, fmt.Errorf("ask hosts: %w", err)
		}
		served.Hosts++
		for _, a := range status.Agents {
			served.Agents = append(served.Agents, a.ID)
		}
	}
}

func nextHost(ctx context.Context, sub *nats.Subscription) (client.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return client.Status{}, err
	}
	return client.ReadStatus(msg.Data)
}
