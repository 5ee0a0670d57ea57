package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"
)

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
		Long:  "Version prints the version of agenthost, and of what it was built from.",
		Example: `  agenthost version
  agenthost version --json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			b := build{Version: version, Commit: commit(), Go: runtime.Version(), NATS: server.VERSION}
			if a.json {
				return a.printJSON(b)
			}
			fmt.Fprintln(a.stdout, b)
			return nil
		},
	}
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
