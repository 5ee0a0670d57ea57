//go:build unix && long

package chaos_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agenthost/internal/freeport"
)

// A plan is a configuration of a test's own.
type plan struct {
	scripts map[string]string // by the name of the model that plays it
	agents  []string          // the entries of agents:, in YAML
	sources string            // mcp: or services:, in YAML
}

// open starts a server and writes the configuration of hosts that use it.
func (p plan) open(t testing.TB) *world {
	t.Helper()
	nats, address := startNATS(t)
	return &world{ledger: openLedger(t, address), nats: nats, config: p.write(t, fmt.Sprintf("url: %q, embedded:", "nats://"+address), "")}
}

// openEmbedded writes the configuration of a host with the server in it.
func (p plan) openEmbedded(t testing.TB) (w *world, address string) {
	t.Helper()
	address = freeport.Address(t)
	return &world{ledger: openLedger(t, address), config: p.write(t, "embedded:", fmt.Sprintf(", listen: %q, anonymous: all", address))}, address
}

// write writes the files to a folder of their own and returns the main one. The
// store is written between the two halves of what is said of NATS.
func (p plan) write(t testing.TB, nats, more string) string {
	t.Helper()
	dir := t.TempDir()
	var models, agents strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.scripts)) {
		fmt.Fprintf(&models, "  %s: {provider: scripted, script: %s.yaml}\n", name, name)
		writeFile(t, filepath.Join(dir, name+".yaml"), p.scripts[name])
	}
	for _, a := range p.agents {
		fmt.Fprintf(&agents, "  - %s\n", a)
	}
	file := filepath.Join(dir, "agenthost.yaml")
	writeFile(t, file, fmt.Sprintf("nats: {%s {store: %q%s}}\nhttp: {listen: \"\"}\nmodels:\n%sagents:\n%s%s\n",
		nats, filepath.Join(dir, "data"), more, &models, &agents, p.sources))
	return file
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// workspace is where the file tools of an agent of w work.
func (w *world) workspace(agent string) string {
	return filepath.Join(filepath.Dir(w.config), "data", "workspaces", agent)
}
