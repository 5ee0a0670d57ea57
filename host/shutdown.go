package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus/streams"
	"agenthost/internal/control"
)

// endWithin is how much longer than the grace a host takes to end: what is left then does not
// return, as a channel of a program that ignores its context.
const endWithin = time.Minute

// bounded runs the host and, once it is to end, waits for the grace and so much longer at most.
func (h *Host) bounded(longer time.Duration, run func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		return err
	case <-h.over:
	}
	late := time.NewTimer(h.opt.Grace + longer)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("stop: a part of the host does not return, %s after the grace of %s, and is left behind; "+
			"nothing is lost: the next owner goes on; to see which part, send SIGQUIT next time: its stack is printed", longer, h.opt.Grace)
	}
}

// serve runs all parts until ctx ends, and stops them in the reverse order.
func (a *assembly) serve(ctx context.Context) error {
	publishing, endPublishing := context.WithCancel(context.WithoutCancel(ctx))
	defer endPublishing()
	defer a.publish(publishing)()
	a.sayTools(a.now.Load())
	a.sayFaults(a.now.Load())
	issued := func(ctx context.Context) error { return a.issued.Run(ctx, a.bus.JS, a.log) }
	defer background(context.WithoutCancel(ctx), issued)() // first, as no login counts before it has read which have ended
	defer background(context.WithoutCancel(ctx), append(append(runs(a.parts), a.openChat(a.bus)), a.openDoors()...)...)()
	service, err := control.Start(a.operations())
	if err != nil {
		return err
	}
	defer service.Stop()
	defer background(context.WithoutCancel(ctx), a.openAPI(service))()
	defer a.end()
	work, stopping := a.work(ctx)
	context.AfterFunc(work, func() { time.AfterFunc(flushWithin, endPublishing) }) // what no stream takes holds up no stop
	err = a.serveAgents(ctx, work)
	if ctx.Err() != nil {
		<-stopping
		a.awaitAnswers(work)
	}
	a.log.Info().Msg("stopped")
	return err
}

// serveAgents runs the fleet until ctx and then work end. Once it serves, the
// host is ready and follows the configuration.
func (a *assembly) serveAgents(ctx, work context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- a.fleet.Run(ctx, work) }()
	if a.fleet.Up(ctx) == nil && a.wakers.up(ctx) {
		watch := &streams.Watch{JS: a.bus.JS, Replicas: a.opt.Config.NATS.Replicas, Log: a.log}
		defer background(ctx, a.reloader().Run, a.sweep, a.cleanAccounts, watch.Run, a.bus.KeepAnswered)()
		a.becomeReady(len(a.now.Load().Agents))
	}
	return <-ended
}

func (h *Host) becomeReady(agents int) {
	h.setState("")
	close(h.ready)
	nats := h.URL()
	if h.opt.Config.NATS.External() { // a connection within the process names an address that none listens at
		nats = h.Bus().NC.ConnectedUrlRedacted()
	}
	h.log.Info().Str("host", h.opt.Name).Int("agents", agents).Str("nats", nats).Str("http", h.httpAddress()).Msg("ready")
	h.sayPages()
}

// publish runs the publisher until the returned function is called, which has
// the last messages stored first. Nothing is published any more once ctx ends.
func (a *assembly) publish(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.shared.Publisher.Run(ctx) // it ends with ctx
	}()
	return func() {
		flush, stop := context.WithTimeout(context.Background(), flushWithin)
		defer stop()
		if err := a.shared.Publisher.Flush(flush); err != nil {
			a.log.Warn().Err(err).Msg("flush messages before the stop: failed; the next owner publishes the rest")
		}
		cancel()
		<-done
	}
}

// work is the context of runs: it outlives ctx by the grace. stopping is closed
// once the host has logged that it stops.
func (h *Host) work(ctx context.Context) (work context.Context, stopping <-chan struct{}) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		h.setState(stateStopping)
		h.log.Info().Dur("grace", h.opt.Grace).Msg("stopping; runs in progress may end")
		h.end()
		time.AfterFunc(h.opt.Grace, func() { cancel(errors.New("the grace is over")) })
	})
	return work, h.over
}
