package bustest

import (
	"testing"
	"time"
)

// TestNoLeaks is of one goroutine that is left behind, and then ends.
func TestNoLeaks(t *testing.T) {
	end := make(chan struct{})
	go func() { <-end }()
	if err := noLeaks(0); err == nil {
		t.Error("a goroutine that is left behind is not told of")
	}
	close(end)
	if err := noLeaks(30 * time.Second); err != nil {
		t.Error(err)
	}
}
