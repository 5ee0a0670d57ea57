package records

import (
	"context"
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

// FindID returns the first Nats-Msg-Id of which is decides among the messages of
// subject published at since or later, of which it looks at no more than most; 0
// means all. It is "" without one.
func (r *Reader) FindID(ctx context.Context, subject string, since time.Time, most int, is func(id string) bool) (string, error) {
	seen := 0
	for rec, err := range r.tail(ctx, streamOf(subject), getRequest{StartTime: &since, NextFor: subject, Batch: searchBatch, MaxBytes: batchBytes}) {
		if err != nil {
			return "", err
		}
		if id := rec.Header.Get(nats.MsgIdHdr); id != "" && is(id) {
			return id, nil
		}
		if seen++; seen == most {
			break
		}
	}
	return "", nil
}
