package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// errEnough ends a following whose caller wants no more.
var errEnough = errors.New("enough")

// Follow yields what is committed to a session from now on, until ctx ends. ready
// is called once no later commit can be missed.
func (a *Archive) Follow(ctx context.Context, agent, sid string, ready func()) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		once := sync.OnceFunc(ready)
		err := records.FollowStream(ctx, a.js, records.Following{
			Stream: bus.SessionsStream, Subjects: []string{Subject(agent, sid)}, New: true,
			Began: func(_, _ uint64) { once() },
			Take: func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
				facts, err := a.read(ctx, records.Record{Seq: meta.Sequence.Stream, Header: msg.Headers(), Data: msg.Data()})
				if err != nil {
					return err
				}
				for _, f := range facts {
					if !yield(f, nil) {
						return errEnough
					}
				}
				return nil
			},
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Fact{}, fmt.Errorf("follow session %s of %s: %w", sid, agent, err))
		}
	}
}
