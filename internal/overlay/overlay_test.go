package overlay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agenthost/internal/overlay"
)

// The go command reads the text in place of a file, also of one that is not there; the file
// stays as it is.
func TestWrite(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where the go command keeps its own cache as well
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	const text = "package a\n\nthis is no Go"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{file: "package a\n\nvar X = y\n", filepath.Join(dir, "b.go"): "package a\n\nconst y = 1\n"}
	path, err := overlay.Write("test", texts)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := overlay.Write("test", texts); err != nil || again != path {
		t.Errorf("the same again: got %q, %v, want %q", again, err, path)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "list", "-overlay", path, "-f", "{{.GoFiles}}", file, filepath.Join(dir, "b.go")).CombinedOutput(); err != nil || string(out) != "[a.go b.go]\n" {
		t.Errorf("go list: got %q, %v", out, err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != text {
		t.Errorf("the file: got %q, %v, want %q", data, err, text)
	}
}
