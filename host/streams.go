package host

import (
	"context"

	"agenthost/bus/streams"
)

// watchStreams notices what is changed of the streams while the host runs, until ctx ends.
func (a *assembly) watchStreams(ctx context.Context) error {
	watch := &streams.Watch{JS: a.bus.JS, Replicas: a.opt.Config.NATS.Replicas, Log: a.log}
	watch.Run(ctx)
	return ctx.Err()
}
