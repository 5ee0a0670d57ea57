package main

import (
	"context"

	"agenthost/bus"
	"agenthost/doors"
	"agenthost/doors/acp"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) acpCommand() *cobra.Command {
	logs := cli.NewLogFlags("warn")
	cmd := &cobra.Command{
		Use:   "acp [AGENT]",
		Short: "Serve an agent to an editor over ACP, on standard input and output",
		Long: `Acp speaks the Agent Client Protocol on standard input and output: name it in the
settings of an editor, such as Zed, a JetBrains IDE or Neovim, as the command of an
agent. AGENT is one of the running hosts; it may be left out where there is one. It
starts no agents, logs to standard error only, and ends with its input; runs go on
without it, and a session can be loaded again.`,
		Example: `  agenthost acp ana
  agenthost acp ana -c /etc/agenthost
  agenthost acp ana -s nats://10.0.0.5:4222`,
		Args: cli.Takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.serveACP(cmd.Context(), name, logs)
		},
	}
	a.ConfigFlag(cmd)
	logs.Register(cmd)
	return cmd
}

func (a *app) serveACP(ctx context.Context, name string, logs *cli.LogFlags) error {
	return a.atDesk(ctx, bus.DoorACP, logs, func(ctx context.Context, desk *doors.Desk, s stdio) error {
		agent, err := acp.Choose(ctx, desk, name)
		if err != nil {
			return err
		}
		return acp.Serve(ctx, desk, agent, s.in, s.out, acp.Options{From: cli.UserName(), Version: a.Version, Log: s.log})
	})
}
