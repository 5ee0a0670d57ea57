package host

import (
	"os"
	"path/filepath"
	"testing"

	"agenthost/config"
	"agenthost/internal/build"

	"github.com/rs/zerolog"
)

// A folder is new once, by however many names it is found: else the configuration would be
// read without end.
func TestWatchFindsAFolderOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"agents", "agents.d"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "agents", "ana.md")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	for link, target := range map[string]string{other: dir, filepath.Join(dir, "agents.d", "ana.yaml"): file} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	h := &Host{opt: Options{Path: other + "/."}, log: zerolog.Nop()}
	h.now.Store(&build.Setup{Config: &config.Config{}})
	w := newWatch(h)
	defer func() { _ = w.events.Close() }()
	select {
	case <-w.due:
	default:
		t.Error("nothing is new at first")
	}
	w.look()
	if len(w.due) > 0 {
		t.Error("the same folders are new again")
	}
}
