package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/internal/chat"
	"agenthost/internal/cli"
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
				return cli.Usage("--last and --session: want one of them")
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
	place, err := chat.Join(ctx, a.App, a.Version, logs.Logger(a.Stderr, a.Getenv))
	if err != nil {
		return err
	}
	defer func() {
		if left := place.Leave(); left != nil {
			a.Warn("stop the host: %v", left)
		}
	}()
	start.Client, start.About = place.Client, place.About
	if start.Agent, err = choose(ctx, agent, place); err != nil {
		return err
	}
	return c.Run(ctx, start)
}

// choose is the agent to talk to.
func choose(ctx context.Context, agent string, place *chat.Place) (string, error) {
	switch ids := place.Agents; {
	case slices.Contains(ids, agent):
		return agent, nil
	case agent != "":
		_, err := place.Client.HostsOf(ctx, agent) // a busy host may have it
		return agent, err
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0:
		return "", errors.New("there is no agent to talk to")
	default:
		return "", fmt.Errorf("there are several agents; name one of %s", strings.Join(ids, ", "))
	}
}
