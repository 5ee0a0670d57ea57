package host

import (
	"context"
	"time"

	"agenthost/client"
	"agenthost/plugins"
)

// cleanAccounts removes the consumers of accounts that are not configured any more, until
// ctx ends.
func (a *assembly) cleanAccounts(ctx context.Context) error {
	fleet := client.New(a.bus.NC, a.bus.JS, client.Options{})
	cleaner := &plugins.Cleaner{
		JS: a.bus.JS, Publisher: a.shared.Publisher, Log: a.log,
		Configured: func(ctx context.Context) (map[string]bool, error) { return configuredAccounts(ctx, fleet) },
	}
	a.cleaner.Store(cleaner)
	tick := time.NewTicker(plugins.SweepEvery)
	defer tick.Stop()
	for {
		cleaner.Sweep(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// configuredAccounts are those that a host of the fleet has, by name.
func configuredAccounts(ctx context.Context, fleet *client.Client) (map[string]bool, error) {
	list, err := fleet.Channels(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, one := range list {
		if len(one.Hosts) > 0 {
			names[one.Name()] = true
		}
	}
	return names, nil
}

// unconfigured are the accounts that the fleet has no more, and which known does not have.
func (h *Host) unconfigured(known map[string]*account) (list []client.AccountStatus) {
	cleaner := h.cleaner.Load()
	if cleaner == nil {
		return nil
	}
	for _, one := range cleaner.Found() {
		if known[one.String()] != nil {
			continue
		}
		list = append(list, client.AccountStatus{
			Channel: one.Channel, Instance: one.Instance, Agents: []string{},
			AccountState: client.AccountState{State: client.StateUnconfigured, Waiting: one.Waiting},
		})
	}
	return list
}
