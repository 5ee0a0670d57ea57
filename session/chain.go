package session

import (
	"context"
	"slices"
	"strconv"

	"agenthost/bus"
	"agenthost/bus/records"
)

// A server that is asked for the messages of one subject looks at all that the stream has
// stored in between, at some 0.2 µs each: in a busy stream that is 10 ms for one session,
// and nothing else on that connection is answered meanwhile. Each commit says which was
// before it, so that they can be read one by one from the newest back, at some 25 µs each.
const (
	// readCost is how many messages can be looked at in the time of one read.
	readCost = 128
	// chainBytes bounds what is held of a chain, which is read from its end.
	chainBytes = 4 << 20
)

// chain reads what comes after what was read, up to last. It fails where a scan costs less, where
// a commit does not say what was before it, and where a copy of the stream lacks one: a
// scan finds out more.
func (l *Log) chain(ctx context.Context, last records.Record) (list []records.Record, ok bool) {
	size := 0
	for rec := last; ; {
		list, size = append(list, rec), size+len(rec.Data)
		before, err := strconv.ParseUint(rec.Header.Get(expectedLastSubjectSequence), 10, 64)
		if begins(rec) || err == nil && before == l.seq {
			slices.Reverse(list)
			return list, true
		}
		if err != nil || before < l.seq || uint64(len(list))*readCost > last.Seq-l.seq || size > chainBytes {
			return nil, false
		}
		rec, err = l.store.Reader.GetFromAny(ctx, bus.SessionsStream, before)
		if err != nil || rec.Subject != l.subject {
			return nil, false
		}
	}
}
