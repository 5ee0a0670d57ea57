package records

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Overwrite deletes messages of a stream, and has the server write over them where they
// were on its disk. One that is gone already is no error; n are those that were there.
func Overwrite(ctx context.Context, js jetstream.JetStream, stream string, seqs []uint64) (n int, err error) {
	if len(seqs) == 0 {
		return 0, nil
	}
	s, err := bus.Again(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, stream) })
	if err != nil {
		return 0, fmt.Errorf("overwrite messages of %s: %w", stream, err)
	}
	for _, seq := range seqs {
		err := overwriteOne(ctx, s, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) && gone(ctx, js, stream, seq) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("overwrite message %d of %s: %w", seq, stream, err)
		}
		n++
	}
	return n, nil
}

func overwriteOne(ctx context.Context, s jetstream.Stream, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	return s.SecureDeleteMsg(ctx, seq)
}

// gone reports whether a message is deleted already. The server calls that a failure.
func gone(ctx context.Context, js jetstream.JetStream, stream string, seq uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	_, err := NewReader(js).Get(ctx, stream, seq)
	return errors.Is(err, ErrNotFound)
}
