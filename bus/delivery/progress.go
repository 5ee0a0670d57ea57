package delivery

import (
	"math"
	"slices"
	"sync"
)

// everything is what a lane has passed when nothing is left to deliver.
const everything = math.MaxUint64

// progress is how far a lane has come since the takeover.
type progress struct {
	mu        sync.Mutex
	passed    uint64 // all up to here was handed out
	pending   uint64 // that came after it
	callbacks []callback
}

// A callback is called when a lane has passed a sequence.
type callback struct {
	seq  uint64
	call func()
}

// reached reports whether the lane has passed seq. If it has not, then is called
// once it has, unless it is nil.
func (p *progress) reached(seq uint64, then func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passed >= seq {
		return true
	}
	if then != nil {
		p.callbacks = append(p.callbacks, callback{seq, then})
	}
	return false
}

// pass notes that the message with sequence seq was handed out, with pending
// more to come.
func (p *progress) pass(seq, pending uint64) {
	for _, c := range p.advance(seq, pending) {
		c.call()
	}
}

// advance returns the callbacks that are due now.
func (p *progress) advance(seq, pending uint64) (due []callback) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed, p.pending = max(p.passed, seq), pending
	if pending == 0 {
		p.passed = everything
	}
	p.callbacks = slices.DeleteFunc(p.callbacks, func(c callback) bool {
		if c.seq <= p.passed {
			due = append(due, c)
		}
		return c.seq <= p.passed
	})
	return due
}

// behind is how many messages had not been handed out when the last was.
func (p *progress) behind() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending
}

// restart forgets how far the lane was: a takeover begins with what is left.
func (p *progress) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed = 0
}
