package interop

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Browse runs a script of testdata, which drives headless Chromium by playwright and
// has axe-core. In AGENTHOST_SHOTS stands where pictures of the pages go; empty:
// nowhere.
func Browse(t testing.TB, script string, args ...string) {
	t.Helper()
	chromium, modules := Program(t, "chromium"), Node(t, "playwright-core@1.64.1", "axe-core@4.10.3")
	script, err := filepath.Abs(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, Program(t, "node"), append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "MODULES="+filepath.Join(modules, "node_modules"), "SHOTS="+os.Getenv("AGENTHOST_SHOTS"))
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, 5*time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	t.Logf("%s", out)
}
