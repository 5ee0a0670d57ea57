//go:build long

package builtin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agenthost/tools/builtin"
)

func TestWalksAreBounded(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "0", "x")
	for i := range 50_000 {
		if err := os.Link(filepath.Join(b.dir, "0"), filepath.Join(b.dir, fmt.Sprint("n", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.text(t, "list_files", `{"glob":"none"}`), "[there is more; name a folder or a narrower pattern]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
