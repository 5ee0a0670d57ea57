package records

import (
	"context"
	"iter"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// A Search looks for messages in the stream that keeps Subject, by their
// Nats-Msg-Id, in one pass.
type Search struct {
	Subject string
	Since   time.Time // the first of them was published then, or later
	Until   time.Time // and the last
	// Most bounds how many published after Until are looked at; 0: all.
	Most int
}

// NotStored returns those of ids that the stream does not have.
func (r *Reader) NotStored(ctx context.Context, s Search, ids []string) (map[string]bool, error) {
	left := make(map[string]bool, len(ids))
	for _, id := range ids {
		left[id] = true
	}
	batch := searchBatch
	if len(ids) > searchBatch {
		batch = tailBatch
	}
	after := 0
	for rec, err := range r.tail(ctx, streamOf(s.Subject), getRequest{StartTime: &s.Since, NextFor: s.Subject, Batch: batch, MaxBytes: batchBytes}) {
		if err != nil {
			return nil, err
		}
		delete(left, rec.Header.Get(nats.MsgIdHdr))
		if rec.Time.After(s.Until) {
			after++
		}
		if len(left) == 0 || after == s.Most && s.Most > 0 {
			break
		}
	}
	return left, nil
}

// streamOf is the stream that keeps replies on subject.
func streamOf(subject string) string {
	switch {
	case strings.HasPrefix(subject, bus.RoutePrefix):
		return bus.RoutesStream
	case strings.HasPrefix(subject, bus.DuePrefix):
		return bus.SchedulesStream
	}
	return bus.OutboundStream
}

// Find returns the first message of a search that has the Nats-Msg-Id, or
// ErrNotFound. Until and Most of it are not used.
func (r *Reader) Find(ctx context.Context, s Search, id string) (Record, error) {
	for rec, err := range r.Since(ctx, streamOf(s.Subject), s.Subject, s.Since) {
		if err != nil {
			return Record{}, err
		}
		if rec.Header.Get(nats.MsgIdHdr) == id {
			return rec, nil
		}
	}
	return Record{}, ErrNotFound
}

// Since reads the messages of subject that were stored at a time or later, oldest
// first, up to the newest at the time of asking. An error ends it.
func (r *Reader) Since(ctx context.Context, stream, subject string, at time.Time) iter.Seq2[Record, error] {
	return r.tail(ctx, stream, getRequest{StartTime: &at, NextFor: subject, Batch: searchBatch, MaxBytes: batchBytes})
}
