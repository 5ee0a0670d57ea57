package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

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

// insist makes a request until it is answered.
func insist(ctx context.Context, address string, i int) answer {
	body := chatOf(fmt.Sprintf("text %d", i))
	body["stream"] = i%2 == 1
	for {
		a, err := tryAt(ctx, address, "POST", chatPath, body, header{"Idempotency-Key": fmt.Sprintf("key %d", i)})
		if err == nil && a.Status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return a
		}
		select {
		case <-time.After(100 * time.Millisecond): // as a client does
		case <-ctx.Done():
		}
	}
}

// streamed is the text of an answer that came in pieces.
func (a answer) streamed() (text string) {
	for _, e := range a.events() {
		list, _ := e["choices"].([]any)
		for _, c := range list {
			choice, _ := c.(object)
			delta, _ := choice["delta"].(object)
			piece, _ := delta["content"].(string)
			text += piece
		}
	}
	return text
}
