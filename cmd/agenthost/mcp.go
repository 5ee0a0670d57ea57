package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/doors"
	"agenthost/doors/mcp"
	"agenthost/internal/cli"
	"agenthost/internal/mcplogin"

	"github.com/spf13/cobra"
)

func (a *app) mcpCommand() *cobra.Command {
	logs := cli.NewLogFlags("warn")
	cmd := cli.Group(&cobra.Command{
		Use:   "mcp",
		Short: "Serve the agents as tools over MCP, on standard input and output",
		Long: `Without a command below it, mcp is an MCP server on standard input and output:
each agent of the running hosts is a tool. Name it in the settings of a program that
starts MCP servers, such as a desktop chat or an editor. It starts no agents, logs
to standard error only, and ends with its input; runs go on without it.

The servers under mcp in the configuration are another matter: they bring tools to
agents, and some want a login first, which is mcp login.`,
		Example: `  agenthost mcp -c /etc/agenthost
  agenthost mcp -s nats://10.0.0.5:4222
  agenthost mcp login wiki`,
	}, a.mcpLoginCommand())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.serveMCP(cmd.Context(), logs) }
	a.ConfigFlag(cmd)
	logs.Register(cmd)
	return cmd
}

func (a *app) serveMCP(ctx context.Context, logs *cli.LogFlags) error {
	return a.atDesk(ctx, bus.DoorMCP, logs, func(ctx context.Context, desk *doors.Desk, s stdio) error {
		return mcp.Serve(ctx, desk, s.in, s.out, mcp.Options{From: cli.UserName(), Version: a.Version, Log: s.log})
	})
}

func (a *app) mcpLoginCommand() *cobra.Command {
	timeout, noBrowser := 5*time.Minute, false
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Get an OAuth token for an MCP server",
		Long: `Login opens the login page of an MCP server in a browser and waits until the
server redirects back to this machine. NAME is a key of mcp in the configuration.
The token is kept in the data folder, for this user alone, and refreshed when it
expires. A running host uses it from its next attempt on.`,
		Example: `  agenthost mcp login wiki
  agenthost mcp login wiki -c /etc/agenthost --no-browser`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.mcpLogin(ctx, args[0], !noBrowser)
		},
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address of the login page and open no browser")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for the login")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) mcpLogin(ctx context.Context, name string, browser bool) error {
	path, err := a.FindConfig()
	if err != nil {
		return err
	}
	if path == "" {
		return errors.New("no agenthost.yaml in this folder; name a configuration with -c")
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	file, err := mcplogin.Run(ctx, cfg, name, func(address string) {
		cli.Say(a.Stderr, "Open this address in a browser:\n%s\n", address)
		if browser {
			openBrowser(address)
		}
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(map[string]string{"server": name, "token_file": file})
	}
	cli.Say(a.Stdout, "logged in to %s; its token is in %s\n", name, file)
	return nil
}

// openBrowser shows an address in the browser of this machine, if it has one. The
// address is printed as well.
func openBrowser(address string) {
	program := map[string][]string{
		"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"},
	}[runtime.GOOS]
	if program == nil {
		program = []string{"xdg-open"}
	}
	cmd := exec.Command(program[0], append(program[1:], address)...) //nolint:noctx // it outlives this command
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
