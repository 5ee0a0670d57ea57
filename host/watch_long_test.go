//go:build long

package host_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder agents.d that is made while the host runs, or taken away and made again as git
// does at a checkout, is followed as agents is.
func TestWatchFollowsAgentsFolderMadeLater(t *testing.T) {
	t.Parallel()
	w := startWatched(t, "", "{id: ana}", nil)
	w.write("agents.d/bob.yaml", "agents: [{id: bob}]\n")
	w.changed("bob")
	if err := os.RemoveAll(filepath.Join(w.dir, "agents.d")); err != nil {
		t.Fatal(err)
	}
	w.changed("bob")
	w.write("agents.d/bob.yaml", "agents: [{id: bob}]\n")
	w.changed("bob")
}
