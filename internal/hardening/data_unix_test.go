//go:build unix

package hardening_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/internal/hardening"
)

func TestReviewOfTheDataFolder(t *testing.T) {
	tests := map[string]struct {
		mode, above os.FileMode
		want        string
	}{
		"its own":                {0o700, 0o755, ""},
		"readable":               {0o755, 0o755, "other users of this machine can look into it (mode 0755)"},
		"for a group":            {0o750, 0o755, "(mode 0750)"},
		"in a folder of its own": {0o755, 0o700, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for path, mode := range map[string]os.FileMode{dir: tt.mode, above: tt.above, filepath.Dir(above): 0o755} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			cfg := safe(t)
			cfg.NATS.Embedded.Store = dir
			list := hardening.Review(cfg, nil)
			switch {
			case tt.want == "" && len(list) == 0:
			case tt.want != "" && len(list) == 1 && strings.Contains(list[0].Text, tt.want) && list[0].Cure == "chmod 700 "+dir:
			default:
				t.Errorf("got %+v, want %q", list, tt.want)
			}
		})
	}
}

// A folder of another user; root's own folders are such to everybody else.
func TestReviewOfAForeignDataFolder(t *testing.T) {
	cfg := safe(t)
	cfg.NATS.Embedded.Store = "/"
	if os.Geteuid() == 0 {
		cfg.NATS.Embedded.Store = t.TempDir()
		if err := os.Chown(cfg.NATS.Embedded.Store, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	list := hardening.Review(cfg, nil)
	if len(list) == 0 || !strings.HasPrefix(list[0].Text, "it belongs to another user") {
		t.Errorf("got %+v", list)
	}
}
