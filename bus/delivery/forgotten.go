package delivery

import (
	"context"
	"errors"
	"strings"
	"time"

	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookEvery is how often a lane that asks looks whether the server has forgotten
	// deliveries. It costs two requests.
	lookEvery = 15 * time.Second
	// lookWithin is the time for that: a lane that has to let go must not wait for it.
	lookWithin = time.Second
)

// forgets reports whether the server has delivered messages, or passed over some, that it
// counts neither as acknowledged nor as open. A consumer with replicas may get there when its
// leader changes soon after a reset. The messages would never come again, and what is behind
// them would never count as done: a reset delivers all from the first that is not acknowledged.
func (l *Lane) forgets(ctx context.Context, info *jetstream.ConsumerInfo) bool {
	switch {
	case l.miscounts(info):
		return true
	case info.NumAckPending > 0:
		return false
	}
	return info.AckFloor.Consumer < info.Delivered.Consumer || l.passedOver(ctx, info)
}

// passedOver reports whether a message of the lane lies between what is acknowledged and how
// far the consumer has come, of which nothing is open. What was stored on a subject before a lane
// was bound to it lies there as well: where a lane has several subjects this looks at one that was
// reset and has delivered nothing since, as then the server has most often lost its way.
func (l *Lane) passedOver(ctx context.Context, info *jetstream.ConsumerInfo) bool {
	filters := filtersOf(info.Config)
	alone := len(filters) == 1 && !strings.ContainsAny(filters[0], "*>")
	reset := info.Delivered.Consumer == 0 && info.AckFloor.Stream > 0
	span := sequences{info.AckFloor.Stream, info.Delivered.Stream}
	if !alone && !reset || len(filters) > lookedThrough || info.NumPending > 0 || span.after >= span.to || span == l.empty {
		return false
	}
	for _, filter := range filters {
		next, err := records.NewReader(l.js).Next(ctx, l.cfg.Stream, filter, span.after+1)
		switch {
		case err == nil && next.Seq <= span.to:
			return true
		case err != nil && !errors.Is(err, records.ErrNotFound):
			return false // the next look is soon
		}
	}
	l.empty = span
	return false
}

// lookedThrough is the number of subjects that a look reads through: each costs a request.
const lookedThrough = 256

// sequences are those of a stream after one, up to another.
type sequences struct{ after, to uint64 }

// forgotten looks whether the server has forgotten deliveries of this lane, where no other
// host serves it.
func (l *Lane) forgotten(ctx context.Context) bool {
	looking, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	consumer, err := l.js.Consumer(looking, l.cfg.Stream, l.cfg.Name)
	if err != nil {
		return false // the next look is soon
	}
	info := consumer.CachedInfo() // of before, also when it is restored now
	pin, mine := pinnedClient(info), l.pinned.Load()
	others := pin != "" && (mine == nil || *mine != pin) // its owner looks
	l.cover(info)
	if l.asksForLeftOut(others) { // it is restored once nothing is asked for: what was left out comes before what is newer
		l.log.Warn().Uint64("from", l.leftOut()).Msg("the subjects of the consumer were changed, and it left out messages of its lane; asking for these again")
		return true
	}
	if !others {
		l.restore(ctx, info.Config)
	}
	if !l.forgets(looking, info) && !l.leftBehind(looking, info) {
		l.noteRest(info)
		if !l.noteMark(looking, info) {
			return false
		}
		l.log.Warn().Msg("a host that set the subjects of the consumer again has not asked for the messages that it left out; asking for these")
		return true
	}
	if others {
		return false
	}
	l.log.Warn().Uint64("delivered", info.Delivered.Stream).Uint64("acknowledged", info.AckFloor.Stream).
		Msg("the server has forgotten what it delivered; asking for it again")
	return true
}

// noteRest notes that nothing is left to deliver. No message says so where all that was to
// come again after a takeover was acknowledged before it came.
func (l *Lane) noteRest(info *jetstream.ConsumerInfo) {
	if l.holds(pinnedClient(info)) && info.NumPending == 0 && info.NumAckPending == 0 {
		l.progress.pass(info.Delivered.Stream, 0)
	}
}
