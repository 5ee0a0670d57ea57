package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// errNotYet is wrapped by the failure of a step that another try may get past.
var errNotYet = errors.New("the cluster does not know the stream yet")

// NotYet marks the error of a stream that is not found although it was just made:
// the servers of a cluster learn of it one after the other.
func NotYet(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w", errNotYet, err)
	}
	return err
}

// makeFirst is about how long the first attempt at a stream may take; each
// further one may take twice as long, up to makeMost.
const (
	makeFirst = time.Second
	makeMost  = 4 * time.Second
)

// InAttempts calls do until it succeeds, fails for another reason than
// its time, or ctx ends. When several hosts create the same stream at once, a
// cluster answers the last request only: the others time out, although the
// stream is there. So an attempt is short, and the next one finds the stream.
// Chance keeps the hosts from asking at the same time again.
func InAttempts(ctx context.Context, log zerolog.Logger, do func(ctx context.Context) error) error {
	for within := makeFirst; ; within = min(2*within, makeMost) {
		attempt, cancel := context.WithTimeout(ctx, within/2+rand.N(within))
		err := do(attempt)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
		log.Info().Msg("stream: no answer of NATS yet; asking again")
	}
}

// againAfter is how long an answer may take until the question is put once more.
const againAfter = time.Second

// Again calls ask, and once more each second while there is no answer: a question to a
// stream or a consumer without a leader is never answered, although there may be a leader a
// moment later. The first answer counts, or else the end of ctx, which has to be near. ask must
// change nothing, or the same thing however often it is called.
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

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
