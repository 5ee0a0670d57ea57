package doctor

import (
	"context"

	"agenthost/client"
	"agenthost/internal/build"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/rs/zerolog"
)

// webChannel is the chat page, which is no account.
const webChannel = "web"

// channels checks that the accounts of channels can be built.
func (d *Doctor) channels(_ context.Context, n *notes) {
	for _, e := range d.Config.Plugins.Entries() {
		o := n.on("channels", e.Name())
		if _, own := e.Settings.(settings.Own); own {
			continue // only its program can
		}
		if e.Channel == webChannel { // the listener serves it
			continue
		}
		if _, err := build.Channel(e, nil, zerolog.Nop()); err != nil {
			o.fail("correct plugins."+e.Key, "%v", err)
			continue
		}
		if hearers := build.Hearers(d.Config, e); len(hearers) == 0 {
			o.warn("add it to channels of an agent", "no agent is bound to it")
		}
	}
}

// accounts reports how the running hosts serve the accounts.
func (d *Doctor) accounts(ctx context.Context, n *notes, c *client.Client) {
	list, err := c.Channels(ctx)
	if err != nil {
		return // no host runs, which the check of NATS says
	}
	for _, one := range list {
		n.on("channels", one.Name()).account(one)
	}
}

func (o note) account(one client.ChannelAccount) {
	switch one.State {
	case plugins.StateConnected:
		o.ok("connected, by the host %s", one.Owner)
	case "failed", plugins.StateRefused, plugins.StateRetrying:
		o.fail("look at plugins and at the platform", "%s: %s", one.State, one.Error)
	case client.StateUnconfigured:
		o.unconfigured(one.Waiting)
	default:
		o.warn("look again; see agenthost channels", "it is %s", one.State)
	}
}

// unconfigured is for an account that no host has any more.
func (o note) unconfigured(waiting int) {
	if waiting == 0 {
		o.ok("no host has it in its configuration; its consumer is removed within an hour")
		return
	}
	o.warn("configure it again to deliver them; they expire with AGENT_OUTBOUND", "no host has it in its configuration, and %d replies wait for it", waiting)
}
