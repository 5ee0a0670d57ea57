package scrub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// patience is how long a cluster gets to answer: a stream whose leader has just gone
	// has none for some seconds, and a new consumer is not known to all servers at once.
	patience = 30 * time.Second
	// patiencePause is between two tries.
	patiencePause = 50 * time.Millisecond
)

// patiently calls do again while no server answers.
func patiently(ctx context.Context, do func() error) error {
	late := time.Now().Add(patience)
	for {
		err := do()
		if !passes(err) || ctx.Err() != nil {
			return err
		}
		if time.Now().After(late) {
			return fmt.Errorf("no answer for %s; are enough servers up, and may this user ask?: %w", patience, err)
		}
		select {
		case <-time.After(patiencePause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unavailable is the code of a cluster that elects a leader for its streams.
const unavailable jetstream.ErrorCode = 10008

// passes reports whether an error means that no server answers for now.
func passes(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == unavailable
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}
