//go:build long

package mcp_test

import (
	"strings"
	"testing"

	"agenthost/tools/mcp"
)

func TestTooLongAnswerWithItsIDLast(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("tail"), mcp.Options{})
	for range 2 {
		if res := w.run("s.last", `{}`); !res.Failed || !strings.HasPrefix(res.Text, "the answer is longer than 16 MiB") {
			t.Errorf("got %.200s", res.Text)
		}
	}
}

// What is no answer answers nothing, whatever its id.
func TestTooLongRequestOfAServerEndsTheConnection(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("tail"), mcp.Options{})
	if res, err := w.try("s.asks", `{}`); err == nil || !strings.Contains(err.Error(), "interrupted; its outcome is unknown: ") {
		t.Errorf("got %.200s, %v", res.Text, err)
	}
}
