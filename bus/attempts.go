package bus

import (
	"cmp"
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

// AtOnce calls all makers, so that a start takes the time of one answer of NATS
// and not of a dozen. It returns what is wrong with the first of them that
// failed, in their order.
func AtOnce(makers []func() error) error {
	faults := make([]error, len(makers))
	var all sync.WaitGroup
	for i, do := range makers {
		all.Go(func() { faults[i] = do() })
	}
	all.Wait()
	return cmp.Or(faults...)
}
