package engine

import (
	"time"

	"agenthost/agents/internal/message"
	"agenthost/session"
)

// collecting is the wait for more messages of one run.
type collecting struct {
	timer  *time.Timer // nil: nothing is waited for
	latest time.Time   // when that ends, whatever still comes; zero: it does not
}

// staleWait is how long a session waits for more of its backlog: what follows
// within that becomes one run with what came before.
const staleWait = time.Second

// debounce is how long to wait for more before a run begins.
func (c *conversation) debounce(it *message.Item) time.Duration {
	if !it.Stale.IsZero() {
		return staleWait
	}
	if it.Binding == nil || it.Queue(c.r.now().Config.Session.Queue) != session.Collect {
		return 0
	}
	return it.Binding.Debounce
}

func (c *conversation) ripe() {
	c.mu.Lock()
	c.timer = nil
	c.wake(0)
	c.mu.Unlock()
}
