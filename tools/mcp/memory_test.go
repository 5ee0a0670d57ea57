package mcp_test

import (
	"fmt"
	"runtime"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

// What is reserved counts, not what is in use at some moment: no more can be.
func reserved(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLongResult(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		w := openOne(t, cfg, mcp.Options{})
		if res := w.run("s.big", fmt.Sprintf(`{"bytes":%d}`, 6<<20)); res.Failed || len(res.Text) != 6<<20 {
			t.Errorf("got %d bytes, failed %t", len(res.Text), res.Failed)
		}
	})
}
