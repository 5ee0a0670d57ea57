package agents

import "sync"

// A crew does pieces of work, each on a goroutine of its own. The last few that
// are done stay for the next piece: a stack that has to grow anew for each
// costs more than most of what is done on it. The zero crew is ready.
type crew struct {
	mu        sync.Mutex
	idle      []chan func()
	dismissed bool
}

// mostIdle is how many of a crew stay: what comes in one batch begins at once.
// At rest each is some kilobytes.
const mostIdle = 256

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
	c.mu.Unlock()
	next <- work
}

func (c *crew) serve(work func()) {
	next := make(chan func(), 1)
	for work != nil {
		work()
		c.mu.Lock()
		if c.dismissed || len(c.idle) == mostIdle {
			c.mu.Unlock()
			return
		}
		c.idle = append(c.idle, next)
		c.mu.Unlock()
		work = <-next
	}
}

// dismiss sends all off who have nothing to do, and later those who have.
func (c *crew) dismiss() {
	c.mu.Lock()
	c.dismissed = true
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, next := range idle {
		next <- nil
	}
}
