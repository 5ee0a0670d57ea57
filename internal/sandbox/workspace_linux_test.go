package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agenthost/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if role, ok := roles[filepath.Base(os.Args[0])]; ok {
		role()
	}
	os.Exit(m.Run())
}

// roles are what this program does under another name, besides testing.
var roles = map[string]func(){}

// A workspace is a folder in which commands are run.
type workspace struct {
	dir     string
	level   sandbox.Level
	network bool
	limit   time.Duration
}

// open makes a workspace; the folder that holds it is not one.
func open(t testing.TB, level sandbox.Level) workspace {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "ana"), level)
}

// openAt is open for a folder that may be there.
func openAt(t testing.TB, dir string, level sandbox.Level) workspace {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return workspace{dir: dir, level: level, limit: 9 * time.Minute}
}

// run runs a command, which may fail.
func (w workspace) run(ctx context.Context, t testing.TB, command string) sandbox.Result {
	t.Helper()
	temp, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	end, err := sandbox.Command{
		Text: command, Dir: w.dir, Temp: temp, Limit: w.limit, Level: w.level, Network: w.network, FileSize: 2 << 30,
	}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// output is what a command prints that has to work.
func (w workspace) output(t testing.TB, command string) string {
	t.Helper()
	end := w.run(t.Context(), t, command)
	if !end.OK {
		t.Fatalf("%s: got %q, %s", command, end.Output, end.State)
	}
	return end.Output
}

func (w workspace) put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
