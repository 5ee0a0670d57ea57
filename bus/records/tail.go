package records

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// What one request reads: all of a tail is wanted, of a search mostly the first.
const (
	tailBatch   = 256
	searchBatch = 16
	// batchBytes is well below what the client buffers for a slow reader.
	batchBytes = 16 << 20
)

// Tail reads the messages of subject from sequence seq on, oldest first, up to
// the newest at the time of asking. An error ends it.
func (r *Reader) Tail(ctx context.Context, stream, subject string, seq uint64) iter.Seq2[Record, error] {
	return r.tail(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject, Batch: tailBatch, MaxBytes: batchBytes})
}

// TailSince reads the messages of subject that were stored at a time or later, as Tail does.
func (r *Reader) TailSince(ctx context.Context, stream, subject string, at time.Time) iter.Seq2[Record, error] {
	return r.tail(ctx, stream, getRequest{StartTime: &at, NextFor: subject, Batch: tailBatch, MaxBytes: batchBytes})
}

func (r *Reader) tail(ctx context.Context, stream string, req getRequest) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		leader, err := r.needLeader(ctx, stream)
		switch {
		case err != nil:
		case leader:
			err = r.tailOfLeader(ctx, stream, req, yield)
		default:
			_, _, err = r.batches(ctx, stream, req, yield)
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// tailOfLeader reads a tail that begins and ends where it does for the leader.
// In between any copy serves: it may lack the newest messages, and no others.
func (r *Reader) tailOfLeader(ctx context.Context, stream string, req getRequest, yield func(Record, error) bool) error {
	for {
		rec, err := r.ask(ctx, stream, getRequest{Seq: req.Seq, StartTime: req.StartTime, NextFor: req.NextFor})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !yield(rec, nil) {
			return nil
		}
		req.Seq, req.StartTime = rec.Seq+1, nil
		next, more, err := r.batches(ctx, stream, req, yield)
		if err != nil || !more {
			return err
		}
		req.Seq = next
	}
}

// batches yields one batch after the other, up to the end of the copies that
// answer. next is the sequence after them; wanted is false once yield has ended it.
func (r *Reader) batches(ctx context.Context, stream string, req getRequest, yield func(Record, error) bool) (next uint64, wanted bool, err error) {
	each := func(rec Record) bool {
		wanted = yield(rec, nil)
		return wanted
	}
	wanted = true
	for more := true; more; {
		var last uint64
		last, more, err = r.batch(ctx, r.direct(stream, &req), req, each)
		if err != nil {
			return 0, false, err
		}
		if last > 0 {
			req.Seq, req.StartTime = last+1, nil
		}
		req.Batch = min(2*req.Batch, tailBatch) // what is not among the first may be far
	}
	return req.Seq, wanted, nil
}

// batch yields one batch; more reports whether another should be requested.
func (r *Reader) batch(ctx context.Context, api string, req getRequest, yield func(Record) bool) (last uint64, more bool, err error) {
	inbox := r.nc.NewInbox()
	answers := make(chan *nats.Msg, req.Batch+1) // a SubscribeSync would make room for half a million
	sub, err := r.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return 0, false, fmt.Errorf("read stored messages: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	gone := make(chan struct{}, 1)
	sub.SetClosedHandler(func(string) {
		select {
		case gone <- struct{}{}:
		default:
		}
	})
	body, err := encodeRequest(req)
	if err != nil {
		return 0, false, err
	}
	if err := r.nc.PublishRequest(api, inbox, body); err != nil {
		return 0, false, fmt.Errorf("read stored messages: %w", err)
	}
	for {
		msg, err := nextMsg(ctx, answers, gone)
		if err != nil {
			return 0, false, fmt.Errorf("read stored messages: %w", err)
		}
		if msg.Header.Get("Status") == "204" { // the end of the batch
			left, _ := strconv.Atoi(msg.Header.Get("Nats-Num-Pending"))
			return last, left > 0 && last > 0, nil
		}
		rec, err := record(msg)
		if errors.Is(err, ErrNotFound) {
			return last, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		last = rec.Seq
		if !yield(rec) {
			return last, false, nil
		}
	}
}

// nextMsg waits for the next message of a batch, which may be lost with its
// connection.
func nextMsg(ctx context.Context, answers <-chan *nats.Msg, gone <-chan struct{}) (*nats.Msg, error) {
	select { // mostly it is there already
	case msg := <-answers:
		return msg, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	select {
	case msg := <-answers:
		return msg, nil
	case <-gone:
		return nil, nats.ErrConnectionClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
