//go:build long

package mcp

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server whose tools change without end is listed with pauses, and one whose tools change now and
// then at once.
func TestListOfToolsThatChangeWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
		lists := atomic.Int64{}
		server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		named := 0
		change := func() {
			named++
			sdk.AddTool(server, &sdk.Tool{Name: fmt.Sprint("t", named%100)}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, struct{}, error) {
				return nil, struct{}{}, nil
			})
		}
		change()
		theirs, ours := sdk.NewInMemoryTransports()
		if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
			t.Fatal(err)
		}
		p := newPeer(tools.MCPConfig{}, "s", Options{Version: "dev"})
		l := &link{changed: make(chan struct{}, 1), doubt: make(chan struct{}, 1), carrier: carrier{transport: ours, stop: func() {}}}
		l.ctx, l.end = context.WithCancelCause(t.Context())
		session, err := p.client(l).Connect(t.Context(), ours, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.session = session
		kept := make(chan error)
		go func() { kept <- p.keep(l) }()
		defer func() { l.close(); <-kept }()
		for range 6000 {
			change()
			time.Sleep(100 * time.Millisecond)
		}
		if n := lists.Load(); n > 70 {
			t.Errorf("%d lists in 10 minutes, in which the tools change without end, want one in 10 s", n)
		}
		if n := len(p.state().tools); n != 100 {
			t.Errorf("%d tools, want 100", n)
		}
		time.Sleep(time.Minute)
		for range 3 {
			before := lists.Load()
			change()
			time.Sleep(time.Second)
			if lists.Load() == before {
				t.Error("a change after a quiet minute is not looked at within a second")
			}
			time.Sleep(time.Minute)
		}
	})
}
