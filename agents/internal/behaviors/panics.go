package behaviors

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// shielded calls code of a behaviour: a panic of it becomes an error, and it is
// not waited for when ctx has ended.
func shielded[T any](ctx context.Context, log *zerolog.Logger, call func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() {
			if p := recover(); p != nil {
				log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic in a behavior")
				out.err = fmt.Errorf("panic: %v", p)
			}
			done <- out
		}()
		out.value, out.err = call()
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
