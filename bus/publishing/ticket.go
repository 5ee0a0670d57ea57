package publishing

import (
	"bytes"
	"iter"
	"strconv"
)

// A ticket is what an acknowledgement is known by. It is used again, for a
// server remembers where the subjects lead that it has seen lately, and looking
// up a new one for every acknowledgement costs it 1.5 µs.
//
// Only a publish that was sent once, and answered with a sequence of its own,
// gives its ticket back: nothing that it has caused is to come any more. Should
// that very answer come again it is known by its words, which name the sequence.
type ticket struct {
	number int      // from 1
	reply  string   // subject
	holder *publish // nil: it is free, or was used up
	seq    uint64   // that came last
	answer []byte   // it came in
}

// told reports whether a is what the one before was told. The words are looked at
// only when the sequence is the same: they are far from the processor by now.
func (t *ticket) told(a ack) bool {
	return a.seq > 0 && a.seq == t.seq && bytes.Equal(a.words, t.answer)
}

// mostTickets are kept, about as many as a server remembers subjects.
const mostTickets = 1024

// takeTicket is called with the lock held.
func (p *Publisher) takeTicket(pub *publish) {
	if last := len(p.free) - 1; last >= 0 {
		pub.ticket = p.free[last]
		p.free = p.free[:last]
	} else {
		number := len(p.tickets) + 1
		pub.ticket = &ticket{number: number, reply: p.replySubject(number)}
		p.tickets = append(p.tickets, pub.ticket)
	}
	pub.holder = pub
	p.pending++
}

// giveBack is called with the lock held. A ticket that may be asked for again is
// used up.
func (p *Publisher) giveBack(t *ticket, a ack, reusable bool) {
	t.holder = nil
	p.pending--
	if !reusable || len(p.free) == mostTickets {
		p.tickets[t.number-1] = nil
		return
	}
	t.seq, t.answer = a.seq, a.words
	p.free = append(p.free, t)
}

// holder is who has the ticket with that number; nil when nobody has. Called with
// the lock held.
func (p *Publisher) holder(number uint64) *publish {
	if number == 0 || number > uint64(len(p.tickets)) || p.tickets[number-1] == nil {
		return nil
	}
	return p.tickets[number-1].holder
}

// inFlight are those who have a ticket. It goes with the lock held.
func (p *Publisher) inFlight() iter.Seq[*publish] {
	return func(yield func(*publish) bool) {
		for _, t := range p.tickets {
			if t != nil && t.holder != nil && !yield(t.holder) {
				return
			}
		}
	}
}

const replyBase = 36

// replySubject is prefix and number, in one allocation.
func (p *Publisher) replySubject(number int) string {
	var buf [64]byte
	return string(strconv.AppendInt(append(buf[:0], p.prefix...), int64(number), replyBase))
}
