package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/chat"
	"agenthost/internal/cli"
	"agenthost/internal/lockfile"
)

func (a *app) chatCommand() *cobra.Command {
	logs := cli.NewLogFlags("warn")
	logs.Aside = true
	start := chat.Start{}
	cmd := &cobra.Command{
		Use:   "chat [AGENT]",
		Short: "Talk to an agent",
		Long: `Chat talks to an agent in the terminal. It joins the host that runs, or starts
one for as long as the chat lasts. Of several agents, name one. When its input
is no terminal, each line is a message and only answers are printed.

When the agent asks for an approval or has a question, the next line is the
answer to it: approve or deny, or approve session or approve always for longer.
The line /stop stops what is under way, /quit ends the chat, /help lists what else
there is. On a terminal the line can be edited, with the earlier ones behind the
arrows; it gets another line by Alt-Enter, by a backslash at its end, or by pasting
several. Ctrl-C stops a run that is under way, and else ends the chat.

A chat is a session of its own. --last goes on with the last one, --session with
another, by its name or its key.`,
		Example: `  agenthost chat
  agenthost chat assistant --last
  agenthost chat assistant --session holidays
  agenthost chat assistant -s nats://10.0.0.5:4222
  echo hi | agenthost chat`,
		Args: cli.Takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent := ""
			if len(args) > 0 {
				agent = args[0]
				if err := cli.CheckAgent(agent); err != nil {
					return err
				}
			}
			if start.Last && start.Session != "" {
				return cli.Usage("--last, and --session: want one of them")
			}
			return a.chat(cmd.Context(), agent, start, logs)
		},
	}
	cmd.Flags().StringVar(&start.Session, "session", "", "go on with the session of that `name` or key, or begin it")
	cmd.Flags().BoolVar(&start.Last, "last", false, "go on with the last chat with the agent")
	a.ConfigFlag(cmd)
	logs.Register(cmd)
	return cmd
}

func (a *app) chat(ctx context.Context, agent string, start chat.Start, logs *cli.LogFlags) error {
	c := chat.Open(a.App)
	defer c.Close()
	place, err := a.join(ctx, logs.Logger(a.Stderr, a.Getenv))
	if err != nil {
		return err
	}
	defer func() {
		if left := place.leave(); left != nil {
			a.Warn("stop the host: %v", left)
		}
	}()
	start.Client, start.About = place.client, place.about
	if start.Agent, err = choose(agent, place.agents); err != nil {
		return err
	}
	return c.Run(ctx, start)
}

// choose is the agent to talk to.
func choose(agent string, ids []string) (string, error) {
	switch {
	case agent != "":
		if slices.Contains(ids, agent) {
			return agent, nil
		}
		return "", &client.UnknownError{What: "agent", Name: agent, Known: ids}
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0:
		return "", errors.New("there is no agent to talk to")
	}
	return "", fmt.Errorf("there are several agents; name one of %s", strings.Join(ids, ", "))
}

// A place is where a chat takes place: a host that runs, or one of its own.
type place struct {
	client *client.Client
	agents []string
	about  string
	leave  func() error // ends what was begun for the chat
}

const (
	joinWithin = 500 * time.Millisecond
	dialWithin = 5 * time.Second
	// chatGrace is what a run gets when the chat has ended. What does not end in it
	// is left to the next host.
	chatGrace = 2 * time.Second
)

// join joins the host that runs, else it starts one in this process.
func (a *app) join(ctx context.Context, log zerolog.Logger) (*place, error) {
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
	return startHere(ctx, cfg, path, log)
}

// joinHost joins the hosts at that NATS. It is nil when there is none.
func joinHost(ctx context.Context, cfg bus.Config, log zerolog.Logger) (*place, error) {
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
	return &place{c, hosts.Agents(), about, func() error { c.Close(); return nil }}, nil
}

// startHere starts a host for the chat alone. Its port is not needed: when
// it is taken, the host does without.
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
	p := &place{client: client.New(h.Bus().NC, h.Bus().JS, client.Options{Door: bus.DoorCLI}), about: about, leave: stop}
	for _, agent := range cfg.Agents {
		p.agents = append(p.agents, agent.ID)
	}
	slices.Sort(p.agents)
	return p, nil
}

// startHost returns when the host is ready. stop ends it and waits for the end.
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
