package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/cli"
	"agenthost/internal/lockfile"

	"github.com/rs/zerolog"
)

// A Place is where a chat takes place: a host that runs, or one of its own.
type Place struct {
	Client *client.Client
	Agents []string
	About  string
	Leave  func() error // ends what was begun for the chat
}

const (
	joinWithin = 500 * time.Millisecond
	dialWithin = 5 * time.Second
	// chatGrace is what a run gets when the chat has ended. What does not end in it
	// is left to the next host.
	chatGrace = 2 * time.Second
)

// Join joins the host that runs, else it starts one in this process.
func Join(ctx context.Context, a *cli.App, version string, log zerolog.Logger) (*Place, error) {
	nats, err := a.NATSConfig()
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
		return nil, a.Unreachable(err)
	}
	cfg, path, err := a.Settings()
	if err != nil {
		return nil, err
	}
	if path == "" && nats.External() {
		return nil, errors.New(`no host answers there; start one with "agenthost run", or name a configuration with -c`)
	}
	return startHere(ctx, cfg, path, version, log)
}

// joinHost joins the hosts at that NATS. It is nil when there is none.
func joinHost(ctx context.Context, cfg bus.Config, log zerolog.Logger) (*Place, error) {
	within := dialWithin
	if !cfg.External() {
		within = joinWithin // the NATS of a host on this machine answers at once
	}
	dialing, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := client.Connect(dialing, cfg, client.Options{Name: "chat", Door: bus.DoorCLI, Log: log})
	if err != nil {
		return nil, err
	}
	hosts, err := c.Hosts(ctx)
	if err == nil && len(hosts) == 0 && c.Anonymous(dialing) {
		err = fmt.Errorf("join the host at %s: %w: %s", c.NATS().ConnectedAddr(), bus.ErrDenied, bus.LogInHint)
	}
	if err != nil || len(hosts) == 0 {
		c.Close()
		return nil, err
	}
	about := "Joined " + hosts[0].Host + ". Talking to"
	if len(hosts) > 1 {
		about = fmt.Sprintf("Joined a fleet of %d hosts. Talking to", len(hosts))
	}
	return &Place{c, hosts.Agents(), about, func() error { c.Close(); return nil }}, nil
}

// startHere starts a host for the chat alone. Its port is not needed: when
// it is taken, the host does without.
func startHere(ctx context.Context, cfg *config.Config, path, version string, log zerolog.Logger) (*Place, error) {
	cfg.HTTP.Listen = ""
	h, stop, err := startHost(ctx, cfg, version, log)
	if errors.Is(err, syscall.EADDRINUSE) {
		cfg.NATS.Embedded.Listen = new("")
		h, stop, err = startHost(ctx, cfg, version, log)
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
	p := &Place{Client: client.New(h.Bus().NC, h.Bus().JS, client.Options{Door: bus.DoorCLI}), About: about, Leave: stop}
	for _, agent := range cfg.Agents {
		p.Agents = append(p.Agents, agent.ID)
	}
	slices.Sort(p.Agents)
	return p, nil
}

// startHost returns when the host is ready. stop ends it and waits for the end.
func startHost(ctx context.Context, cfg *config.Config, version string, log zerolog.Logger) (h *host.Host, stop func() error, err error) {
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
