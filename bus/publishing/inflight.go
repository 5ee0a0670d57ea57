package publishing

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A publish is in flight, until it is acknowledged or has failed, and then
// waits to be sent again. All its copies have one reply subject: whichever is
// acknowledged, the message is stored, and an answer that takes longer than
// ackTimeout counts nevertheless.
//
// No other publish ever has that subject. A cluster that has lost its leader repeats its
// answers seconds later, and may call them duplicates then: nothing else tells them from
// those to another message.
type publish struct {
	number uint64 // from 1
	reply  string // subject
	msg    *nats.Msg
	stored Stored
	sends  int
	waits  bool
	due    time.Time // in flight: for the acknowledgement; else to be sent again
	since  time.Time // it was sent first
	last   error     // why it is sent again
}

// takeOff notes that pub is sent now.
func (pub *publish) takeOff(now time.Time) {
	pub.sends++
	pub.waits = false
	pub.due = now.Add(ackTimeout)
	if pub.last != nil { // a leader that is just being chosen may let it drop as well
		pub.due = now.Add(ackAfterTrouble)
	}
}

// inFlight are the publishes that are not acknowledged. All but number is called with the
// lock of the Publisher held.
type inFlight struct {
	prefix  string // of the subjects that acknowledgements come on; a number follows
	last    uint64 // number that was given
	pending map[uint64]*publish
	idle    chan struct{} // closed once nothing is pending; nil when nothing waits for that
}

// add gives pub its number.
func (f *inFlight) add(pub *publish) {
	f.last++
	pub.number, pub.reply = f.last, f.replySubject(f.last)
	if f.pending == nil {
		f.pending = map[uint64]*publish{}
	}
	f.pending[pub.number] = pub
}

// has reports whether no copy of pub was answered.
func (f *inFlight) has(pub *publish) bool { return f.pending[pub.number] == pub }

func (f *inFlight) remove(pub *publish) {
	delete(f.pending, pub.number)
	f.signalIdle()
}

// all are in the order in which they were published.
func (f *inFlight) all() iter.Seq[*publish] {
	return func(yield func(*publish) bool) {
		for _, number := range slices.Sorted(maps.Keys(f.pending)) {
			if !yield(f.pending[number]) {
				return
			}
		}
	}
}

// clear removes all and returns them.
func (f *inFlight) clear() []*publish {
	left := slices.Collect(f.all())
	f.pending = nil
	f.signalIdle()
	return left
}

// whenIdle is closed once nothing is pending, and nil when nothing is.
func (f *inFlight) whenIdle() <-chan struct{} {
	if len(f.pending) == 0 {
		return nil
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}

func (f *inFlight) signalIdle() {
	if f.idle != nil && len(f.pending) == 0 {
		close(f.idle)
		f.idle = nil
	}
}

const replyBase = 36

// replySubject is prefix and number, in one allocation.
func (f *inFlight) replySubject(number uint64) string {
	var buf [64]byte
	return string(strconv.AppendUint(append(buf[:0], f.prefix...), number, replyBase))
}

// number is that of a replySubject.
func (f *inFlight) number(subject string) (number uint64, ok bool) {
	number, err := strconv.ParseUint(strings.TrimPrefix(subject, f.prefix), replyBase, 64)
	return number, err == nil
}
