package doors

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus"
	"agenthost/client"
)

// Waiting is what waits for the person of a session, the oldest first. ReplyTo of its
// Origin is the message whose run waits, for Join.
func (d *Desk) Waiting(ctx context.Context, p Place) (list []client.Waiting, err error) {
	if busy, err := d.atWork(ctx, p); !busy {
		return nil, err
	}
	all, err := d.client.Waiting(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	for _, w := range all {
		here := w.Origin != nil && w.Origin.Agent == p.Agent && w.Origin.Session == d.Key(p)
		if here && (w.Kind == bus.KindApproval || w.Kind == bus.KindQuestion) {
			list = append(list, w)
		}
	}
	return list, nil
}

// atWork reports whether a session has a run: most have none, and no list is read.
func (d *Desk) atWork(ctx context.Context, p Place) (bool, error) {
	sid, err := client.SessionID(p.Agent, d.Key(p))
	if err != nil {
		return false, err
	}
	state, _, err := d.client.Sessions().State(ctx, p.Agent, sid)
	switch {
	case errors.Is(err, client.ErrNoSession):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return state.Run != nil, nil
}
