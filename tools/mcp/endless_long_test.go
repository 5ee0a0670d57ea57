//go:build long

package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/tools/mcp"
)

func TestListOfToolsIsBounded(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("endless tools"), mcp.Options{})
	if got, want := fmt.Sprint(w.client().Faults()), "list tools: the list is longer than 16 MiB"; !strings.Contains(got, want) {
		t.Errorf("got faults %s and %d tools, want %s", got, len(w.client().Tools()), want)
	}
}
