package llmtest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"agenthost/llm"
)

// An Answer is a stream read to its end.
type Answer struct {
	Deltas  []llm.Delta
	Message llm.Message
	Usage   llm.Usage
	Finish  llm.Finish
	Err     error // what the stream ended with
	Fault   error // how the stream broke the rules of llm.Provider, nil if it did not
}

// Read reads a stream to its end and checks that nothing follows an error or a
// Finish, and that there is one of the two.
func Read(stream iter.Seq2[llm.Delta, error]) Answer {
	var (
		a Answer
		b llm.Builder
	)
	for d, err := range stream {
		switch {
		case a.Err != nil:
			a.Fault = fmt.Errorf("something follows the error %w", a.Err)
		case a.Finish != "":
			a.Fault = fmt.Errorf("something follows the finish %q", a.Finish)
		}
		if err != nil {
			a.Err = err
			continue
		}
		b.Add(d)
		a.Deltas = append(a.Deltas, d)
		a.Finish = b.Finish()
	}
	if a.Err == nil && a.Finish == "" {
		a.Fault = errors.New("stream ended without a finish and without an error")
	}
	a.Message, a.Usage = b.Message(), b.Usage()
	return a
}

func check(ctx context.Context, s Suite, p llm.Provider) error {
	a := Read(p.Stream(ctx, Request()))
	if err := errors.Join(a.Fault, a.Err); err != nil {
		return err
	}
	if got := a.Message.Text(); got != s.Text || a.Finish != llm.FinishStop {
		return fmt.Errorf("answered %q (%s), want %q (stop)", got, a.Finish, s.Text)
	}
	return nil
}
