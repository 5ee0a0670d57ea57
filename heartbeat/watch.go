package heartbeat

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// moved reports whether anything was stored since. What has only been deleted
// is no news.
func moved(before, now map[string]uint64) bool {
	for subject, seq := range now {
		if seq != 0 && seq != before[subject] {
			return true
		}
	}
	return false
}

// look asks how far the watched subjects are. What no stream keeps is at 0.
func (b *Beats) look(ctx context.Context, subjects []string) (map[string]uint64, error) {
	seen := make(map[string]uint64, len(subjects))
	for _, subject := range subjects {
		seq, err := b.lastOf(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", subject, err)
		}
		seen[subject] = seq
	}
	return seen, nil
}

// lastOf asks for the stream each time: it may have been deleted, and another keep the subject.
func (b *Beats) lastOf(ctx context.Context, subject string) (uint64, error) {
	home, err := b.js.StreamNameBySubject(ctx, subject)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		b.log.Warn().Str("subject", subject).Msg("a heartbeat watches a subject that no stream keeps; nothing can be seen there")
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	rec, err := b.reader.Last(ctx, home, subject)
	if errors.Is(err, records.ErrNotFound) {
		return 0, nil
	}
	return rec.Seq, err
}
