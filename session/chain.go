package session

import (
	"context"
	"slices"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
)

// A server that is asked for the messages of one subject looks at all that the stream has
// stored in between, at some 0.2 µs each: in a busy stream that is 10 ms for one session,
// and nothing else on that connection is answered meanwhile. Each commit says which was
// before it, so that they can be read one by one from the newest back, at some 25 µs each
// for a host that is near.
const (
	// readCost is how many messages can be looked at in the time of one read.
	readCost = 128
	// chainBytes and chainTime bound what is held of a chain, which is read from its end, and
	// how long that takes.
	chainBytes = 4 << 20
	chainTime  = 2 * time.Second
	// near is how soon a server answers for which the above holds.
	near = 2 * time.Millisecond
)

// chain reads what comes after what was read, up to last. It fails where a scan costs less, where
// a commit does not say what was before it, and where a copy of the stream lacks one: a
// scan finds out more.
func (l *Log) chain(ctx context.Context, last records.Record) (list []records.Record, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, chainTime)
	defer cancel()
	size, span := 0, uint64(0)
	for rec := last; ; {
		list, size = append(list, rec), size+len(rec.Data)
		before, err := strconv.ParseUint(rec.Header.Get(expectedLastSubjectSequence), 10, 64)
		if begins(rec) || err == nil && before == l.seq {
			slices.Reverse(list)
			return list, true
		}
		if err != nil || before < l.seq || before >= rec.Seq || size > chainBytes {
			return nil, false
		}
		if len(list) == 1 {
			span = l.span(ctx, last)
		}
		if uint64(len(list))*readCost > span {
			return nil, false
		}
		rec, err = l.store.Reader.GetFromAny(ctx, bus.SessionsStream, before)
		if err != nil || rec.Subject != l.subject {
			return nil, false
		}
	}
}

// span is how many messages a scan up to last would have the server look at; 0 where it would
// not matter.
func (l *Log) span(ctx context.Context, last records.Record) uint64 {
	switch {
	case l.store.Reader.Fastest() > near:
		return 0
	case l.seq > 0 || last.Seq <= readCost:
		return last.Seq - l.seq
	}
	first, err := l.store.Reader.Next(ctx, bus.SessionsStream, l.subject, 1)
	if err != nil {
		return 0
	}
	return last.Seq - first.Seq
}
