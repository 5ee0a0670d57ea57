package a2a

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// Requests that come together read a subject one after the other, each from where the
// one before has ended: a thousand of them read it once.
func TestSubjectIsReadInTurns(t *testing.T) {
	s := newSent(nil)
	var read [100]int // how often each message was
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			from, done, err := s.from(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			for i := from; i < 100; i++ {
				read[i]++
			}
			done(100)
		})
	}
	all.Wait()
	for i, n := range read {
		if n != 1 {
			t.Errorf("message %d: read %d times", i, n)
		}
	}
	if from, done, err := s.from(t.Context(), "b"); from != 0 || err != nil {
		t.Errorf("another subject: got %d, %v", from, err)
	} else {
		defer done(0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.from(ctx, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has gone: got %v", err)
	}
}
