//go:build unix

package chaos_test

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A tape is what a stream has stored, as far as it was read.
type tape struct {
	js     jetstream.JetStream
	stream string
	read   uint64 // the last sequence that was
	msgs   []*jetstream.RawStreamMsg
}

// wind reads what is new. It fails while NATS is away, and may be called again.
func (p *tape) wind() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stream, err := p.js.Stream(ctx, p.stream)
	if err != nil {
		return err
	}
	for last := stream.CachedInfo().State.LastSeq; p.read < last; p.read++ {
		msg, err := p.get(ctx, stream, p.read+1)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // a snapshot that another has replaced
			continue
		}
		if err != nil {
			return err
		}
		p.msgs = append(p.msgs, msg)
	}
	return nil
}

// lostAfter is when an answer of the server counts as lost with its connection.
// What is asked again does no harm.
const lostAfter = 500 * time.Millisecond

// get reads one message.
func (p *tape) get(ctx context.Context, stream jetstream.Stream, seq uint64) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	return stream.GetMsg(ctx, seq)
}
