//go:build unix && long

package mcp_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

// A server that neither answers nor reads is restarted once a call has
// shown it.
func TestStalledServer(t *testing.T) {
	t.Parallel() // it waits
	w := openOne(t, stdio("server"), mcp.Options{})
	p := w.process()
	pause(t, p)
	args := `{"text":"` + strings.Repeat("x", 1<<20) + `"}` // more than fits in a pipe
	if _, err := w.try("s.echo", args); err == nil {
		t.Error("a stalled server answers")
	}
	w.retry(w.tool("s.pid"), `{}`, func(res tools.Result) bool { return res.Text != strconv.Itoa(p.Pid) })
}

func TestSilentServerIsDoubted(t *testing.T) {
	t.Parallel() // it waits
	w := openOne(t, stdio("server"), mcp.Options{})
	p := w.process()
	pause(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := w.tool("s.echo").Run(ctx, call(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	w.retry(w.tool("s.pid"), `{}`, func(res tools.Result) bool { return res.Text != strconv.Itoa(p.Pid) })
}
