package control

import (
	"context"

	"agenthost/client"
)

// channels are the accounts of channels of this host.
func (h Host) channels(context.Context, none) (client.ChannelReport, error) {
	return client.ChannelReport{Host: h.Name, Accounts: append([]client.AccountStatus{}, h.Channels()...)}, nil
}
