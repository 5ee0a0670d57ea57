//go:build long

package openai_test

import (
	"fmt"
	"sync"
	"testing"

	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"
)

// Many requests at once, whole and streamed, the host killed in the middle: who asks
// again with the same key gets the one answer of the one run.
func TestHostKilledUnderRequests(t *testing.T) {
	t.Parallel()
	n := doorstest.Many()
	p := doorstest.StartProcess(t)
	ctx := doorstest.Context(t)
	answers := make([]answer, n)
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() { answers[i] = insist(ctx, p.HTTP, i) })
	}
	waittest.Until(t, "some are answered, or at the model", func() bool { all, _ := p.Model.Asked(); return all > n/3 })
	p.Kill()
	p.Start()
	clients.Wait()
	for i, first := range answers {
		want := fmt.Sprintf("said text %d", i)
		if first.Status != 200 {
			t.Fatalf("request %d: got %d %s", i, first.Status, first.Body)
		}
		got := any(first.streamed())
		if i%2 == 0 {
			got = first.content(t)
			if again := insist(ctx, p.HTTP, i); again.Body != first.Body {
				t.Errorf("request %d again: got %s, first %s", i, again.Body, first.Body)
			}
		}
		if got != want {
			t.Errorf("request %d: got %v", i, got)
		}
	}
	p.OneRunEach(n)
}
