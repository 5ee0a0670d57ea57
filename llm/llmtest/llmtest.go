// Package llmtest is the suite every llm.Provider passes.
package llmtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"agenthost/llm"

	"go.uber.org/goleak"
)

// A Suite says how to make the providers under test. Each function is called
// once per subtest; what it starts must end with the test's Cleanup.
type Suite struct {
	// Answers makes a provider that answers Request with Text.
	Answers func(t testing.TB) llm.Provider
	Text    string

	// Stalls makes a provider that says something and then nothing until its
	// ctx ends. Nil for one that never waits.
	Stalls func(t testing.TB) llm.Provider

	// Breaks makes a provider that says something and then fails. Nil for one
	// that cannot.
	Breaks func(t testing.TB) llm.Provider
}

// Request is what the suite asks; its only message is "hello".
func Request() llm.Request {
	return llm.Request{Model: "test", Messages: []llm.Message{llm.UserText("hello")}}
}

// Run runs the suite. It fails when a goroutine is left behind.
func Run(t *testing.T, s Suite) {
	tests := []struct {
		name string
		new  func(testing.TB) llm.Provider
		run  func(*testing.T, Suite, llm.Provider)
	}{
		{"answer", s.Answers, answer},
		{"repeat", s.Answers, repeat},
		{"concurrent", s.Answers, concurrent},
		{"cancelled before", s.Answers, cancelledBefore},
		{"left at once", s.Answers, left},
		{"left while it waits", s.Stalls, left},
		{"cancelled while it waits", s.Stalls, cancelledMidway},
		{"broken", s.Breaks, broken},
	}
	for _, tt := range tests {
		if tt.new == nil {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after what tt.new cleans up
			tt.run(t, s, tt.new(t))
		})
	}
}

func answer(t *testing.T, s Suite, p llm.Provider) {
	if err := check(t.Context(), s, p); err != nil {
		t.Error(err)
	}
}

func repeat(t *testing.T, s Suite, p llm.Provider) {
	for range 3 {
		if err := check(t.Context(), s, p); err != nil {
			t.Error(err)
		}
	}
}

func concurrent(t *testing.T, s Suite, p llm.Provider) {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := check(t.Context(), s, p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func cancelledBefore(t *testing.T, _ Suite, p llm.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCancelled(t, Read(p.Stream(ctx, Request())))
}

func cancelledMidway(t *testing.T, _ Suite, p llm.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wantCancelled(t, Read(func(yield func(llm.Delta, error) bool) {
		for d, err := range p.Stream(ctx, Request()) {
			cancel()
			if !yield(d, err) {
				return
			}
		}
	}))
}

func wantCancelled(t *testing.T, a Answer) {
	t.Helper()
	if a.Fault != nil {
		t.Error(a.Fault)
	}
	if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeCancelled || !errors.Is(e, context.Canceled) {
		t.Errorf("cancelled stream ended with %v, want a cancelled *llm.Error", a.Err)
	}
}

func left(t *testing.T, _ Suite, p llm.Provider) {
	for _, err := range p.Stream(t.Context(), Request()) {
		if err != nil {
			t.Errorf("stream began with %v", err)
		}
		break
	}
}

func broken(t *testing.T, _ Suite, p llm.Provider) {
	a := Read(p.Stream(t.Context(), Request()))
	if a.Fault != nil {
		t.Error(a.Fault)
	}
	if len(a.Deltas) == 0 {
		t.Error("nothing was said before the error")
	}
	var e *llm.Error
	if !errors.As(a.Err, &e) || e.Code == "" {
		t.Errorf("broken stream ended with %v, want an *llm.Error with a code", a.Err)
	}
	if !a.Message.Partial {
		t.Error("message of a broken stream is not partial")
	}
}
