// Command agenthost runs a fleet of LLM agents on NATS, and talks to one that
// runs.
//
// It exits with 0 when done, 1 when what was asked for failed, and 2 when the
// question itself was wrong. Results go to standard output, all else to
// standard error.
package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host"
	"agenthost/internal/cli"
	"agenthost/internal/commands"
)

func main() {
	host.Begin()
	ctx, stop := cli.UntilSignal(context.Background(), os.Exit)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// An app is one call of this program.
type app struct {
	*cli.App
}

func newApp(stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) *app {
	return &app{App: &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv, Version: built().release()}}
}

// execute runs the command that args name and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr, os.Getenv)
	return a.Execute(ctx, a.root(), args)
}

// root is the table of commands.
func (a *app) root() *cobra.Command {
	return a.Root(cli.Group(&cobra.Command{
		Use:   "agenthost",
		Short: "Run a fleet of LLM agents on NATS",
		Long: `agenthost runs a fleet of LLM agents on NATS. Messages, runs and replies are
kept in JetStream: what a host was doing when it died, the next one finishes.`,
		Example: `  agenthost run           serve the agents of ./agenthost.yaml; without that file
                          a demo, with a chat page in the browser
  agenthost chat          talk to an agent here and now
  agenthost init          write a configuration to start from`,
		Version: strings.TrimPrefix(built().String(), "agenthost "), // cobra writes the name
	},
		append(commands.All(a.App),
			a.runCommand(), a.chatCommand(), a.sendCommand(), a.mcpCommand(), a.acpCommand(), a.heartbeatCommand(),
			a.initCommand(), a.checkCommand(), a.configCommand(), a.doctorCommand(), a.schemaCommand(), a.lanesCommand(),
			a.natsContextCommand(), a.natsPermissionsCommand(), a.benchCommand(), a.versionCommand())...,
	))
}
