package main

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"

	"agenthost/internal/cli"
)

// version is the version of this program.
const version = "0.1.0"

// source is the commit where the linker is given it: the Dockerfile builds without the
// repository, so that Go finds none.
var source string

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
		Long: `Version prints the versions of agenthost, Go and the embedded nats-server, and the
commit that agenthost was built from, where the build knows it. A host has the
commit behind its version in agenthost fleet.`,
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
	info, _ := debug.ReadBuildInfo() // nil: not known
	return builtFrom(info, source)
}

func builtFrom(info *debug.BuildInfo, source string) build {
	return build{Version: version, Commit: commitOf(info, source), Go: runtime.Version(), NATS: server.VERSION}
}

func (b build) String() string {
	from := ""
	if b.Commit != "" {
		from = "commit " + b.Commit + ", "
	}
	return fmt.Sprintf("agenthost %s (%s%s, nats-server %s)", b.Version, from, b.Go, b.NATS)
}

// notInMetadata is what the build metadata of a semantic version may not hold.
var notInMetadata = regexp.MustCompile(`[^0-9A-Za-z-]+`)

// release is the version with the commit as its build metadata: what tells two builds of
// a version apart in a fleet. NATS micro services take nothing but a semantic version.
func (b build) release() string {
	if metadata := strings.Trim(notInMetadata.ReplaceAllString(b.Commit, "."), "."); metadata != "" {
		return b.Version + "+" + metadata
	}
	return b.Version
}

// shown is how much of a commit's hash is shown.
const shown = 12

// commitOf is that of the source, empty when the build does not know it.
func commitOf(info *debug.BuildInfo, source string) string {
	if info == nil {
		return shortened(source)
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = shortened(s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if revision != "" {
		return revision + changed
	}
	return cmp.Or(shortened(source), ofPseudoVersion(info.Main.Version))
}

func shortened(revision string) string { return revision[:min(len(revision), shown)] }

// pseudoVersion is that of a module without a tag, such as
// v0.1.1-0.20261129085101-f5ab68910d7a, which `go install …@main` builds from.
var pseudoVersion = regexp.MustCompile(`[.-]\d{14}-([0-9a-f]{12})$`)

func ofPseudoVersion(module string) string {
	if m := pseudoVersion.FindStringSubmatch(module); m != nil {
		return m[1]
	}
	return ""
}
