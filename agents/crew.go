package agents

import (
	"sync"
	"time"
)

// A crew does pieces of work, each on a goroutine of its own. Some that are done
// stay for the next piece: a stack that has to grow anew for each costs more than
// most of what is done on it. Idle workers exit after a while. The zero
// crew is ready.
type crew struct {
	mu        sync.Mutex
	idle      []chan func() // the last to come is the first to go
	spare     int           // of them nobody has needed so many since the last look
	looking   bool          // trim will be called
	dismissed bool
}

const (
	// mostIdle is how many stay: much of what comes in one batch begins at once.
	mostIdle = 256
	// idleTime is how often somebody looks for those who are not needed.
	idleTime = time.Second
)

// do has work done, now.
func (c *crew) do(work func()) {
	c.mu.Lock()
	last := len(c.idle) - 1
	if last < 0 {
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

func (c *crew) serve(work func()) {
	next := make(chan func(), 1)
	for work != nil {
		work()
		if !c.rest(next) {
			return
		}
		work = <-next
	}
}

// rest reports whether somebody who is done may stay.
func (c *crew) rest(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dismissed || len(c.idle) == mostIdle {
		return false
	}
	c.idle = append(c.idle, next)
	if !c.looking {
		c.looking = true
		time.AfterFunc(idleTime, c.trim)
	}
	return true
}

// trim sends those off who were idle all the time since it was called last.
func (c *crew) trim() {
	c.mu.Lock()
	gone := c.idle[:c.spare:c.spare]
	c.idle = append([]chan func(){}, c.idle[c.spare:]...)
	c.spare = len(c.idle)
	if c.looking = c.spare > 0; c.looking {
		time.AfterFunc(idleTime, c.trim)
	}
	c.mu.Unlock()
	sendOff(gone)
}

// dismiss sends all off who have nothing to do, and later those who have.
func (c *crew) dismiss() {
	c.mu.Lock()
	gone := c.idle
	c.idle, c.spare, c.dismissed = nil, 0, true
	c.mu.Unlock()
	sendOff(gone)
}

func sendOff(gone []chan func()) {
	for _, next := range gone {
		next <- nil
	}
}
