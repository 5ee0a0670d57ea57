//go:build long

package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/tools"
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

// The text after an edit is measured before it is made: it can be a million times as long.
func TestEditThatWouldGrowWithoutBound(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	b.put(t, "a.txt", strings.Repeat("a", 10<<20))
	args := quoted(t, map[string]any{"path": "a.txt", "old": "a", "new": strings.Repeat("b", 30<<20), "all": true})
	if shown := b.tools["edit_file"].Preview(t.Context(), tools.Call{Agent: "ana", Args: json.RawMessage(args)}); shown.Detail == "" {
		t.Error("the preview shows nothing")
	}
	b.fails(t, "edit_file", args, `edit "a.txt": larger than 10 MB`)
}
