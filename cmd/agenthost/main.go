// Command agenthost runs a fleet of LLM agents on NATS, and talks to one that
// runs.
//
// It exits with 0 when done, 1 when what was asked for failed, and 2 when the
// question itself was wrong. Results go to standard output, all else to
// standard error.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
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
	return &app{App: &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv, Version: version}}
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

// version is the version of this program.
const version = "0.1.0"

// A build is what the program was made from.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	NATS    string `json:"nats_server"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Version prints the versions of agenthost, Go and the embedded nats-server.",
		Example: `  agenthost version
  agenthost version --json`,
		Args: cli.Takes(),
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				return a.PrintJSON(built())
			}
			fmt.Fprintln(a.Stdout, built())
			return nil
		},
	}
}

func built() build {
	return build{Version: version, Commit: commit(), Go: runtime.Version(), NATS: server.VERSION}
}

func (b build) String() string {
	from := ""
	if b.Commit != "" {
		from = "commit " + b.Commit + ", "
	}
	return fmt.Sprintf("agenthost %s (%s%s, nats-server %s)", b.Version, from, b.Go, b.NATS)
}

// commit is that of the source, empty when the build does not know it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}
