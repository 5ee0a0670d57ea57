//go:build long

package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agenthost/tools/builtin"
)

// A link that is swapped for a file all the time must not be followed at the
// moment between a check and a use.
func TestSwappedLinks(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	b.put(t, "dir/f", "mine")
	secret := filepath.Join(filepath.Dir(b.dir), "f")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	swapped := 0
	var swapper sync.WaitGroup
	swapper.Go(func() { swapped = swap(b.dir, stop) })
	for range 500 {
		for tool, args := range map[string]string{
			"read_file":    `{"path":"dir/f"}`,
			"search_files": `{"path":"dir","pattern":"."}`,
			"write_file":   `{"path":"dir/f","text":"mine"}`,
			"edit_file":    `{"path":"dir/f","old":"e","new":"e!","all":true}`,
		} {
			if result, err := b.call(t, tool, args); err == nil && strings.Contains(result.Text, "secret") {
				t.Fatalf("%s read outside: %q", tool, result.Text)
			}
		}
	}
	close(stop)
	swapper.Wait()
	if swapped == 0 {
		t.Error("the link was never there")
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: got %q, %v", got, err)
	}
}
