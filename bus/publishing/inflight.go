package publishing

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A publish is in flight, until it is acknowledged or has failed, and then
// waits to be sent again. All its copies have one ticket: whichever is
// acknowledged, the message is stored, and an answer that takes longer than
// ackTimeout counts nevertheless.
type publish struct {
	*ticket
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

// A ticket is what an acknowledgement is known by. It is used again, for a
// server remembers where the subjects lead that it has seen lately, and looking
// up a new one for every acknowledgement costs it 1.5 µs.
//
// Only a publish that was sent once, and answered with a sequence of its own,
// gives its ticket back: nothing that it has caused is to come any more. But a cluster that
// has lost its leader may repeat its answers, many of them and seconds later. These are known by
// their sequences: what was sent after an answer has a later one in the same stream.
type ticket struct {
	number   int      // from 1
	reply    string   // subject
	holder   *publish // nil: it is free, or was used up
	answered []position
}

// A position is the last sequence of a stream that was answered on a ticket.
type position struct {
	stream string
	seq    uint64
}

// repeats reports whether a was the answer to an earlier holder. The sequence of a duplicate
// may be of any time; a ticket that had such an answer is not used again.
func (t *ticket) repeats(a ack) bool {
	if a.seq == 0 || a.duplicate {
		return false
	}
	for i := range t.answered {
		if p := &t.answered[i]; p.stream == string(a.stream) {
			return a.seq <= p.seq
		}
	}
	return false
}

// note takes the answer to the holder.
func (t *ticket) note(a ack) {
	for i := range t.answered {
		if p := &t.answered[i]; p.stream == string(a.stream) {
			p.seq = a.seq
			return
		}
	}
	t.answered = append(t.answered, position{string(a.stream), a.seq})
}

// mostTickets are kept, about as many as a server remembers subjects.
const mostTickets = 1024

// inFlight are the publishes that are not acknowledged, by their tickets. All but
// number is called with the lock of the Publisher held.
type inFlight struct {
	prefix  string        // of the subjects that acknowledgements come on; a number follows
	tickets []*ticket     // by number; nil is one that is not used again
	free    []*ticket     // the last to come is the first to go
	pending int           // tickets that a publish has
	idle    chan struct{} // closed once nothing is pending; nil when nothing waits for that
}

// add gives pub a ticket.
func (f *inFlight) add(pub *publish) {
	if last := len(f.free) - 1; last >= 0 {
		pub.ticket = f.free[last]
		f.free = f.free[:last]
	} else {
		number := len(f.tickets) + 1
		pub.ticket = &ticket{number: number, reply: f.replySubject(number)}
		f.tickets = append(f.tickets, pub.ticket)
	}
	pub.holder = pub
	f.pending++
}

// remove takes the ticket back. One that may be answered again is used up.
func (f *inFlight) remove(t *ticket, a ack, reusable bool) {
	t.holder = nil
	f.pending--
	f.signalIdle()
	if !reusable || len(f.free) == mostTickets {
		f.tickets[t.number-1] = nil
		return
	}
	t.note(a)
	f.free = append(f.free, t)
}

// holder is the publish that has the ticket with that number, if any.
func (f *inFlight) holder(number uint64) *publish {
	if number == 0 || number > uint64(len(f.tickets)) || f.tickets[number-1] == nil {
		return nil
	}
	return f.tickets[number-1].holder
}

// all are the publishes that have a ticket.
func (f *inFlight) all() iter.Seq[*publish] {
	return func(yield func(*publish) bool) {
		for _, t := range f.tickets {
			if t != nil && t.holder != nil && !yield(t.holder) {
				return
			}
		}
	}
}

// clear removes all and returns them.
func (f *inFlight) clear() []*publish {
	left := slices.Collect(f.all())
	for _, pub := range left {
		pub.holder = nil
	}
	f.tickets, f.free, f.pending = nil, nil, 0
	f.signalIdle()
	return left
}

// whenIdle is closed once nothing is pending, and nil when nothing is.
func (f *inFlight) whenIdle() <-chan struct{} {
	if f.pending == 0 {
		return nil
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}

func (f *inFlight) signalIdle() {
	if f.idle != nil && f.pending == 0 {
		close(f.idle)
		f.idle = nil
	}
}

const replyBase = 36

// replySubject is prefix and number, in one allocation.
func (f *inFlight) replySubject(number int) string {
	var buf [64]byte
	return string(strconv.AppendInt(append(buf[:0], f.prefix...), int64(number), replyBase))
}

// number is that of a replySubject.
func (f *inFlight) number(subject string) (number uint64, ok bool) {
	number, err := strconv.ParseUint(strings.TrimPrefix(subject, f.prefix), replyBase, 64)
	return number, err == nil
}
