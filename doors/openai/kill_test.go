package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

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
