// Package workers does short pieces of work on goroutines that are used again.
package workers

import (
	"sync"
	"time"
)

// A Pool does pieces of work, each on a goroutine of its own. Some that are done
// stay for the next piece: a stack that has to grow for each costs more than
// most of what is done on it. Idle workers exit after a second. The zero
// Pool is ready.
type Pool struct {
	mu      sync.Mutex
	idle    []chan func() // the last to come is the first to go
	spare   int           // so many of them were idle all the time since the last look
	looking bool          // trim will be called
	closed  bool
	alive   int           // goroutines
	ended   chan struct{} // closed when none is alive; nil: no waiter
}

const (
	// mostIdle is how many stay: much of what comes in one batch begins at once.
	mostIdle = 256
	// idleTime is how often idle workers are looked for.
	idleTime = time.Second
)

// Do begins work at once.
func (c *Pool) Do(work func()) {
	c.mu.Lock()
	last := len(c.idle) - 1
	if last < 0 {
		c.alive++
		c.mu.Unlock()
		go c.serve(work)
		return
	}
	next := c.idle[last]
	c.idle = c.idle[:last]
	c.spare = min(c.spare, last)
	c.mu.Unlock()
	next <- work
}

func (c *Pool) serve(work func()) {
	defer c.exit()
	next := make(chan func(), 1)
	for work != nil {
		work()
		if !c.rest(next) {
			return
		}
		work = <-next
	}
}

// exit says that a goroutine ends.
func (c *Pool) exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive--; c.alive == 0 && c.ended != nil {
		close(c.ended)
		c.ended = nil
	}
}

// rest reports whether a worker that is done may stay.
func (c *Pool) rest(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) == mostIdle {
		return false
	}
	c.idle = append(c.idle, next)
	if !c.looking {
		c.looking = true
		time.AfterFunc(idleTime, c.trim)
	}
	return true
}

// trim stops the workers that were idle all the time since it was called last.
func (c *Pool) trim() {
	c.mu.Lock()
	gone := c.idle[:c.spare:c.spare]
	c.idle = append([]chan func(){}, c.idle[c.spare:]...)
	c.spare = len(c.idle)
	if c.looking = c.spare > 0; c.looking {
		time.AfterFunc(idleTime, c.trim)
	}
	c.mu.Unlock()
	stop(gone)
}

// Close stops all workers and waits until they are done, at most for within: some work may
// never end. It returns how many are left; each of them ends with its work.
func (c *Pool) Close(within time.Duration) (left int) {
	ended := make(chan struct{})
	c.mu.Lock()
	gone := c.idle
	c.idle, c.spare, c.closed = nil, 0, true
	if c.alive == 0 {
		close(ended)
	} else {
		c.ended = ended
	}
	c.mu.Unlock()
	stop(gone)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-ended:
		return 0
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = nil
	return c.alive
}

func stop(gone []chan func()) {
	for _, next := range gone {
		next <- nil
	}
}
