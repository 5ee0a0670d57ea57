//go:build interop && unix

package acp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"

	"github.com/google/go-cmp/cmp"
)

// TestInteropACP has the official library as the editor. AGENTHOST_NPM is a folder whose
// node_modules has @agentclientprotocol/sdk.
func TestInteropACP(t *testing.T) {
	modules, err := filepath.Abs(filepath.Join(os.Getenv("AGENTHOST_NPM"), "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	url, _ := bustest.Server(t)
	cfg := doorstest.Config(t, "")
	cfg.NATS = bus.Config{URL: url}
	doorstest.Serve(t, cfg)
	dir := t.TempDir()
	program := filepath.Join(dir, "agenthost")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/agenthost").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// A module is looked for beside its importer.
	client, err := os.ReadFile("testdata/client.mjs")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "client.mjs"), client, 0o600)
	}
	if err == nil {
		err = os.Symlink(modules, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node/bin/node"), filepath.Join(dir, "client.mjs"), program, "acp", "-s", url)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the editor: %v", err)
	}
	want, err := os.ReadFile("testdata/client.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(out)); diff != "" {
		t.Errorf("what it got (-want +got):\n%s", diff)
	}
}
