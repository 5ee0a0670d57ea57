package bus

import (
	"bytes"
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
	number uint64
	reply  string // subject
	seq    uint64 // that came last
	answer []byte // it came in
}

// told reports whether a is what the one before was told. The words are looked at
// only when the sequence is the same: they are far from the processor by now.
func (t *ticket) told(a ack) bool {
	return a.seq > 0 && a.seq == t.seq && bytes.Equal(a.words, t.answer)
}

// mostTickets are kept, about as many as a server remembers subjects.
const mostTickets = 1024

// takeTicket is called with the lock held.
func (p *Publisher) takeTicket() *ticket {
	if last := len(p.free) - 1; last >= 0 {
		t := p.free[last]
		p.free = p.free[:last]
		return t
	}
	p.numbers++
	return &ticket{number: p.numbers, reply: p.replySubject(p.numbers)}
}

// giveBack is called with the lock held.
func (p *Publisher) giveBack(t *ticket, a ack) {
	if len(p.free) < mostTickets {
		t.seq, t.answer = a.seq, a.words
		p.free = append(p.free, t)
	}
}

const replyBase = 36

// replySubject is prefix and number, in one allocation.
func (p *Publisher) replySubject(number uint64) string {
	var buf [64]byte
	return string(strconv.AppendUint(append(buf[:0], p.prefix...), number, replyBase))
}
