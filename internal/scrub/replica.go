package scrub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// A replica reads the copy of a stream that one server has.
//
// NATS has no request for "the copy on that server": a direct get is answered by any
// server, all else by the leader. But a consumer with one replica lives on one of the
// servers that have a copy, reads that copy, and says in its info where it is.
type replica struct {
	server string
	js     jetstream.JetStream
	stream string
	cons   jetstream.Consumer
	left   uint64 // that the consumer has not delivered yet
	last   uint64 // sequence that is read, at most
	buffer []records.Record
}

const (
	// replicaBatch is how many messages are read at once.
	replicaBatch = 128
	// replicaWithin is how long a server has to deliver a batch.
	replicaWithin = 10 * time.Second
	// placings is how many consumers are made for one to be on a certain server: of
	// three, one more is elsewhere each time with a chance of two in three.
	placings = 100
	// consumerIdle ends consumers whose scrub has died.
	consumerIdle = time.Minute
)

// openReplicas makes a reader for each of the servers, from sequence first to last. Those
// of which none could be made are missing from the list.
func openReplicas(ctx context.Context, js jetstream.JetStream, stream string, servers []string, first, last uint64) (list []*replica, err error) {
	defer func() {
		if err != nil {
			closeReplicas(ctx, list)
			list = nil
		}
	}()
	for range placings {
		if len(list) == len(servers) {
			break
		}
		var cons jetstream.Consumer
		err := patiently(ctx, func() (err error) {
			cons, err = js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
				DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(first, 1),
				AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: consumerIdle, MemoryStorage: true, Replicas: 1,
			})
			return err
		})
		if err != nil {
			return list, fmt.Errorf("make a consumer that reads one copy: %w", err)
		}
		r := &replica{js: js, stream: stream, cons: cons, left: cons.CachedInfo().NumPending, last: last}
		if at := cons.CachedInfo().Cluster; at != nil {
			r.server = at.Leader
		}
		if !slices.Contains(servers, r.server) || slices.ContainsFunc(list, func(have *replica) bool { return have.server == r.server }) {
			r.close(ctx)
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *replica) int { return slices.Index(servers, a.server) - slices.Index(servers, b.server) })
	return list, nil
}

func closeReplicas(ctx context.Context, list []*replica) {
	for _, r := range list {
		r.close(ctx)
	}
}

// close deletes the consumer; what is left of it goes by itself.
func (r *replica) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replicaWithin)
	defer cancel()
	_ = r.js.DeleteConsumer(ctx, r.stream, r.cons.CachedInfo().Name)
}

// head is the oldest message that was not taken; ok is false at the end of the copy.
func (r *replica) head(ctx context.Context) (rec records.Record, ok bool, err error) {
	for len(r.buffer) == 0 && r.left > 0 {
		if err := r.fill(ctx); err != nil {
			return rec, false, fmt.Errorf("read the copy of %s: %w", r.server, err)
		}
	}
	if len(r.buffer) == 0 || r.buffer[0].Seq > r.last {
		return rec, false, nil
	}
	return r.buffer[0], true, nil
}

func (r *replica) take() { r.buffer = r.buffer[1:] }

// errSilent is a server that delivers nothing though it has messages.
var errSilent = errors.New("it delivers nothing")

// fill reads the next batch.
func (r *replica) fill(ctx context.Context) error {
	return patiently(ctx, func() error { return r.fetch(ctx) })
}

func (r *replica) fetch(ctx context.Context) error {
	batch, err := r.cons.Fetch(int(min(r.left, replicaBatch)), jetstream.FetchMaxWait(replicaWithin))
	if err != nil {
		return err
	}
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		r.left = meta.NumPending
		r.buffer = append(r.buffer, records.Record{
			Subject: msg.Subject(), Seq: meta.Sequence.Stream, Time: meta.Timestamp, Header: msg.Headers(), Data: msg.Data(),
		})
		if meta.Sequence.Stream >= r.last {
			r.left = 0 // what is newer is not wanted
		}
	}
	if len(r.buffer) > 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return r.look(ctx)
}

// look finds out what is left, when nothing came: it may have been deleted meanwhile.
func (r *replica) look(ctx context.Context) error {
	info, err := r.cons.Info(ctx)
	if err != nil {
		return err
	}
	if info.NumPending > 0 && info.NumPending >= r.left {
		return errSilent
	}
	r.left = info.NumPending
	return nil
}
