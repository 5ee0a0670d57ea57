//go:build long

package mcp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

// A server decides how much it answers, and the host pays for it: for a result of
// 50 MB no more than three times its size. The call ends with an error that says
// why, and nothing else does.
func TestResultThatIsTooLongEndsItsCallAlone(t *testing.T) {
	for name, cfg := range map[string]func(t *testing.T) tools.MCPConfig{
		"stdio":  func(*testing.T) tools.MCPConfig { return stdio("server") },
		"events": func(t *testing.T) tools.MCPConfig { return inProcess(t, "events") },
		"json":   func(t *testing.T) tools.MCPConfig { return inProcess(t, "json") },
	} {
		t.Run(name, func(t *testing.T) {
			w := openOne(t, cfg(t), mcp.Options{})
			before := w.run("s.pid", `{}`)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // more than a tool has: the detector of races is slow
			defer cancel()
			held := begin(ctx, w.tool("s.steps"))
			<-held.progress
			var res tools.Result
			big := w.tool("s.big")
			size := 20 << 20
			if name == "stdio" {
				size = 50 << 20
			}
			var err error
			got := reserved(func() { res, err = big.Run(ctx, call(fmt.Sprintf(`{"bytes":%d}`, size))) })
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("reserved %d MB", got>>20)
			if got > 150<<20 {
				t.Errorf("reserved %d MB", got>>20)
			}
			if !res.Failed || !strings.HasPrefix(res.Text, "the answer is longer than 16 MiB") {
				t.Errorf("got %.200s", res.Text)
			}
			w.run("s.proceed", `{}`)
			if <-held.done; held.err != nil || held.res.Text != "stepped" {
				t.Errorf("another call: got %+v, %v", held.res, held.err)
			}
			if after := w.run("s.pid", `{}`); after != before {
				t.Errorf("process %s became %s", before.Text, after.Text)
			}
		})
	}
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

// What is reserved counts, not what is in use at some moment: no more can be.
func reserved(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
