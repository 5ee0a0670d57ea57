package control

import (
	"context"

	"agenthost/client"
)

// channels are the accounts of channels of this host.
func (h Host) channels(context.Context, none) (client.ChannelReport, error) {
	return client.ChannelReport{Host: h.Name, Accounts: append([]client.AccountStatus{}, h.Channels()...)}, nil
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
