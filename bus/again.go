package bus

import (
	"context"
	"errors"
	"sync"
	"time"
)

// againAfter is how long an answer may take until the question is put once more.
const againAfter = time.Second

// Again calls ask, and once more each second while there is no answer: a question to a
// stream or a consumer without a leader is never answered, although there may be a leader a
// moment later. The first answer counts, or else the end of ctx, which has to be near. ask must
// change nothing.
func Again[T any](ctx context.Context, ask func(context.Context) (T, error)) (v T, err error) {
	first, cancel := context.WithTimeout(ctx, againAfter)
	v, err = ask(first)
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return v, err
	}
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer)
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	again := time.NewTicker(againAfter)
	defer again.Stop()
	for {
		asking.Go(func() {
			v, err := ask(ctx)
			select {
			case answers <- answer{v, err}:
			case <-ctx.Done():
			}
		})
		select {
		case a := <-answers:
			return a.v, a.err
		case <-again.C:
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}
