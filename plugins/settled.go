package plugins

import "sync"

// mostSettled is how many replies are remembered as settled.
const mostSettled = 16384

// settled are the replies that this process has settled, by their sequence: one
// whose acknowledgement was lost comes again and is not delivered again.
type settled struct {
	mu    sync.Mutex
	seqs  map[uint64]bool
	order []uint64 // the oldest first, in a ring once it is full
	next  int
}

func newSettled() *settled { return &settled{seqs: map[uint64]bool{}} }

func (s *settled) add(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seqs[seq] {
		return
	}
	s.seqs[seq] = true
	if len(s.order) < mostSettled {
		s.order = append(s.order, seq)
		return
	}
	delete(s.seqs, s.order[s.next])
	s.order[s.next] = seq
	s.next = (s.next + 1) % mostSettled
}

// clear forgets all.
func (s *settled) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seqs)
	s.order, s.next = nil, 0
}

func (s *settled) has(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seqs[seq]
}
