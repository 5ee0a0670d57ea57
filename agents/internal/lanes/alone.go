package lanes

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
)

// alone returns once no other host has said for presenceTTL that it lives, or ctx ends. A host that
// has ended its runs says no more, though it may still wait for answers itself.
func (p *spread) alone(ctx context.Context) {
	heard := make(chan *nats.Msg, 256)
	sub, err := p.nc.ChanSubscribe(presenceSubject, heard)
	if err != nil { // the connection is closed
		return
	}
	defer func() { _ = sub.Unsubscribe() }()
	again := p.nc.StatusChanged(nats.CONNECTED)
	defer p.nc.RemoveStatusListener(again)
	silent := time.NewTimer(presenceTTL)
	defer silent.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-silent.C:
			if p.nc.IsConnected() { // else nothing can be heard
				return
			}
			silent.Reset(presenceTTL)
		case <-again: // what the others said meanwhile is lost
			silent.Reset(presenceTTL)
		case m := <-heard:
			other := peer{}
			if json.Unmarshal(m.Data, &other) == nil && other.Fleet == p.fleetNow() && other.ID != p.id && other.State != gone {
				silent.Reset(presenceTTL)
			}
		}
	}
}
