//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agenthost/internal/agenthost-chaos/clock"
)

// A clock can only be set wrong in a host that was built for that; any other has the rest of
// the faults.
func TestBuildLeavesOutWhatABinaryCannotHave(t *testing.T) {
	for text, want := range map[string][]string{"": {"cut", "reset"}, clock.Var: {"cut", clockJump, "reset"}} {
		o := &options{binary: filepath.Join(t.TempDir(), "agenthost")}
		if err := os.WriteFile(o.binary, []byte("a program"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := build(t.Context(), o, []string{"cut", clockJump, "reset"})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("with the text %q: got %q, %v, want %q", text, got, err, want)
		}
	}
}
