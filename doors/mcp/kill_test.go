//go:build long

package mcp_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Many calls at once, the host killed in the middle: who calls again with the same id
// gets the one answer of the one run.
func TestHostKilledUnderCalls(t *testing.T) {
	t.Parallel()
	n := doorstest.Many()
	p := doorstest.StartProcess(t)
	ctx := doorstest.Context(t)
	answers := make([]summary, n)
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() { answers[i] = insist(ctx, t, p, i) })
	}
	waittest.Until(t, "some are at the model", func() bool { all, _ := p.Model.Asked(); return all > n/3 })
	p.Kill()
	p.Start()
	clients.Wait()
	runs := map[string]bool{}
	for i, first := range answers {
		if want := fmt.Sprintf("said text %d", i); first.Text != want {
			t.Errorf("call %d: got %+v", i, first)
		}
		runs[first.Run] = true
	}
	for i := range 10 {
		if diff := cmp.Diff(answers[i], insist(ctx, t, p, i)); diff != "" {
			t.Errorf("call %d again (-first +again):\n%s", i, diff)
		}
	}
	if p.OneRunEach(n); len(runs) != n {
		t.Errorf("the answers are of %d runs, want %d", len(runs), n)
	}
}

// insist calls until it is answered.
func insist(ctx context.Context, t *testing.T, p *doorstest.Process, i int) summary {
	for ctx.Err() == nil {
		res, err := try(ctx, p, i)
		if err == nil && !res.IsError {
			return read(t, res)
		}
		select {
		case <-time.After(100 * time.Millisecond): // as a client does
		case <-ctx.Done():
		}
	}
	return summary{}
}

func try(ctx context.Context, p *doorstest.Process, i int) (*sdk.CallToolResult, error) {
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: "http://" + p.HTTP + "/mcp", MaxRetries: -1},
		&sdk.ClientSessionOptions{ProtocolVersion: versions[i%2]})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.CallTool(ctx, &sdk.CallToolParams{
		Meta: sdk.Meta{"agenthost/id": fmt.Sprint(i)}, Name: "ana", Arguments: map[string]any{"text": fmt.Sprintf("text %d", i)},
	})
}
