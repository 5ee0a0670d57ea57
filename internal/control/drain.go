package control

import (
	"context"

	"agenthost/client"
)

// A DrainOrder names the host that is to end.
type DrainOrder struct {
	Host string `json:"host"`
	By   string `json:"by,omitempty"`
}

// drain has this host end, if it is meant.
func (h Host) drain(ctx context.Context, o DrainOrder) error {
	if o.Host != h.Name {
		return coded(client.CodeNotFound, "this is another host")
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
