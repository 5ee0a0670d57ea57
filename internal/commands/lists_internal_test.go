package commands

import (
	"io"
	"strings"
	"testing"

	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

// Each command that lists something takes the flags that all of them share.
func TestListsShareTheirFlags(t *testing.T) {
	also := map[string]bool{"agents": true, "channels": true, "fleet": true, "approvals allowed": true}
	lists := 0
	var look func(path string, cmd *cobra.Command)
	look = func(path string, cmd *cobra.Command) {
		path = strings.TrimSpace(path + " " + cmd.Name())
		for _, below := range cmd.Commands() {
			look(path, below)
		}
		if cmd.Name() != "ls" && !also[path] {
			return
		}
		lists++
		for _, flag := range []string{"watch", "since", "agent"} {
			if cmd.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", path, flag)
			}
		}
	}
	for _, cmd := range All(&cli.App{Stdout: io.Discard, Stderr: io.Discard}) {
		look("", cmd)
	}
	if lists < 13 {
		t.Errorf("got %d lists", lists)
	}
}
