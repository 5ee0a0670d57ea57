//go:build unix && long

package chaos_test

import (
	"context"
	"errors"
	"sync"
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
	for last := stream.CachedInfo().State.LastSeq; p.read < last; {
		if err := p.windFurther(ctx, stream, min(last-p.read, atOnce)); err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many messages are read at a time: a host at full speed writes
// faster than they can be asked for one after the other.
const atOnce = 64

// windFurther reads the next n messages.
func (p *tape) windFurther(ctx context.Context, stream jetstream.Stream, n uint64) error {
	msgs, faults := make([]*jetstream.RawStreamMsg, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { msgs[i], faults[i] = p.get(ctx, stream, p.read+1+i) })
	}
	all.Wait()
	for i, msg := range msgs {
		switch err := faults[i]; {
		case errors.Is(err, jetstream.ErrMsgNotFound): // a snapshot that another has replaced
		case err != nil:
			return err
		default:
			p.msgs = append(p.msgs, msg)
		}
		p.read++
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
