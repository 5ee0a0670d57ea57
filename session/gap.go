package session

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"agenthost/bus"
	"agenthost/bus/records"
)

// Each commit says which message of the log it was written after. So a copy of the stream
// that lacks some, as one whose disk has lost a part of a file, is found out: what it does
// not have is read from the leader. Without that a session would go on as if what is
// missing had never been said.

// rest is what comes after what was read, up to last or beyond.
func (l *Log) rest(ctx context.Context, last records.Record) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		if list, ok := l.chain(ctx, last); ok {
			for _, rec := range list {
				if !yield(rec, nil) {
					return
				}
			}
			return
		}
		for rec, err := range l.store.Reader.Tail(ctx, bus.SessionsStream, l.subject, l.seq+1) {
			if err == nil && !l.follows(rec) {
				var whole bool
				if whole, err = l.verifyGap(ctx, rec); err == nil && !whole {
					l.restAtLeader(ctx, yield)
					return
				}
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// follows reports whether a message is the next of the log, as far as it says. One that
// takes the place of all that was before it follows nothing.
func (l *Log) follows(rec records.Record) bool {
	expected, err := strconv.ParseUint(rec.Header.Get(expectedLastSubjectSequence), 10, 64)
	return err != nil || expected == l.seq || begins(rec)
}

// verifyGap asks the leader whether nothing is between what was read and rec.
func (l *Log) verifyGap(ctx context.Context, rec records.Record) (nothing bool, err error) {
	next, err := l.store.Reader.NextAtLeader(ctx, bus.SessionsStream, l.subject, l.seq+1)
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		return false, err
	}
	if err == nil && next.Seq < rec.Seq {
		l.store.Log.Warn().Str("subject", l.subject).Uint64("after", l.seq).Uint64("before", rec.Seq).
			Msg("a copy of AGENT_SESSIONS lacks commits; reading them from the leader. agenthost scrub shows what is damaged")
		return false, nil
	}
	if l.seq > 0 {
		l.store.Log.Error().Str("subject", l.subject).Uint64("after", l.seq).Uint64("before", rec.Seq).
			Msg("NATS has lost commits of a session; it goes on without them. agenthost scrub shows what is damaged")
	}
	return true, nil
}

// restAtLeader is rest as the leader has it.
func (l *Log) restAtLeader(ctx context.Context, yield func(records.Record, error) bool) {
	for {
		rec, err := l.store.Reader.NextAtLeader(ctx, bus.SessionsStream, l.subject, l.seq+1)
		if errors.Is(err, records.ErrNotFound) || !yield(rec, err) || err != nil {
			return
		}
	}
}
