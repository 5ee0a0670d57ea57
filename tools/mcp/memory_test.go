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

// A server decides how much it answers, and the host pays for it.
func TestLargeResultCostsABoundedAmountOfMemory(t *testing.T) {
	w := openOne(t, stdio("server"), mcp.Options{})
	big := w.tool("s.big")
	for _, mb := range []int{3, 30} {
		var err error
		got := reserved(func() {
			_, err = big.Run(t.Context(), tools.Call{ID: "c1", Args: fmt.Appendf(nil, `{"bytes":%d}`, mb<<20)})
		})
		t.Logf("%d MB: reserved %d MB, %v", mb, got>>20, err)
		if got > 150<<20 {
			t.Errorf("a result of %d MB reserved %d MB", mb, got>>20)
		}
		if mb == 3 && err != nil {
			t.Errorf("a result of %d MB: %v", mb, err)
		}
	}
}
