package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/lockfile"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A place is where a chat takes place: a host that runs, or one of its own.
type place struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	agents []string
	about  string
	leave  func() error // ends what was begun for the chat
}

const (
	joinWithin = 500 * time.Millisecond
	// chatGrace is what a run gets whose answer nobody waits for any more. What
	// does not end in it is left to the next host.
	chatGrace = 2 * time.Second
)

// join joins the host that runs, else it starts one in this process.
func (a *app) join(ctx context.Context, log zerolog.Logger) (*place, error) {
	nats, err := a.natsConfig()
	if err != nil {
		return nil, err
	}
	p, err := joinHost(ctx, nats, log)
	switch {
	case p != nil:
		return p, nil
	case errors.Is(err, bus.ErrDenied):
		return nil, err
	case err != nil && nats.External():
		return nil, a.unreachable(err)
	}
	cfg, path, err := a.settings()
	if err != nil {
		return nil, err
	}
	if path == "" && nats.External() {
		return nil, errors.New(`no host answers there; start one with "agenthost run", or name a configuration with -c`)
	}
	return startHere(ctx, cfg, path, log)
}

// joinHost joins the hosts at that NATS. It is nil when there is none.
func joinHost(ctx context.Context, cfg bus.Config, log zerolog.Logger) (*place, error) {
	within := joinWithin // the NATS of a host on this machine answers at once
	if cfg.External() {
		within = dialWithin
	}
	dialing, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	nc, js, err := bus.Dial(dialing, cfg, "chat", log)
	if err != nil {
		return nil, err
	}
	hosts, err := askHosts(ctx, nc)
	if err == nil && len(hosts) == 0 && bus.Anonymous(dialing, nc) {
		err = fmt.Errorf("join the host at %s: %w: %s", nc.ConnectedAddr(), bus.ErrDenied, bus.LogInHint)
	}
	if err != nil || len(hosts) == 0 {
		nc.Close()
		return nil, err
	}
	about := "Joined " + hosts[0].Host + ". Talking to"
	if len(hosts) > 1 {
		about = fmt.Sprintf("Joined a fleet of %d hosts. Talking to", len(hosts))
	}
	return &place{nc, js, hosts.agents(), about, func() error { nc.Close(); return nil }}, nil
}

// startHere starts a host for the chat alone. Its port is not needed: when
// somebody else has it, the host does without.
func startHere(ctx context.Context, cfg *config.Config, path string, log zerolog.Logger) (*place, error) {
	cfg.HTTP.Listen = ""
	h, stop, err := startHost(ctx, cfg, log)
	if errors.Is(err, syscall.EADDRINUSE) {
		cfg.NATS.Embedded.Listen = new("")
		h, stop, err = startHost(ctx, cfg, log)
	}
	switch {
	case errors.Is(err, lockfile.ErrLocked):
		return nil, fmt.Errorf("a host runs here already, but not on the NATS that the configuration names; name its NATS with -s (%w)", err)
	case err != nil:
		return nil, err
	}
	about := "Talking to"
	if path == "" {
		about = `No agenthost.yaml here: this agent repeats what it is told, and "agenthost init" sets one up with a model.` + "\n" + about
	}
	p := &place{nc: h.Bus().NC, js: h.Bus().JS, about: about, leave: stop}
	for _, agent := range cfg.Agents {
		p.agents = append(p.agents, agent.ID)
	}
	slices.Sort(p.agents)
	return p, nil
}

// startHost returns when the host is ready. stop ends it and returns when it
// has.
func startHost(ctx context.Context, cfg *config.Config, log zerolog.Logger) (h *host.Host, stop func() error, err error) {
	h = host.New(host.Options{Config: cfg, Grace: chatGrace, Version: version, Log: log})
	// The host is to outlive a signal, until the chat is done with it.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- h.Run(serving) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-h.Ready():
		return h, stop, nil
	case err := <-ended:
		cancel()
		return nil, nil, err
	case <-ctx.Done():
		return nil, nil, errors.Join(context.Cause(ctx), stop())
	}
}
