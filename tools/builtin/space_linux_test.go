package builtin_test

import (
	"strings"
	"testing"
)

// What a full workspace has left is deleting.
func TestCommandsInAFullWorkspace(t *testing.T) {
	t.Parallel()
	b := open(t, small)
	b.put(t, "a/b", strings.Repeat("x", 9<<20))
	result, err := b.call(t, "run_command", `{"command":"echo more > c && cat c"}`)
	if err != nil || !result.Failed || !strings.Contains(result.Text, fullWorkspace) {
		t.Errorf("got %+v, %v", result, err)
	}
	b.text(t, "run_command", `{"command":"ls a >/dev/null && rm -r a && mv c d"}`)
	if got := b.text(t, "run_command", `{"command":"echo more > c; cat c"}`); !strings.HasPrefix(got, "more\n") {
		t.Errorf("got %q", got)
	}
}
