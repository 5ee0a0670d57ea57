package conversation

import (
	"cmp"
	"slices"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/session"
)

// most is how many messages one run answers together.
const most = 100

// together is how many inputs at the head of the queue make one run. Called
// with the lock held.
func (c *Conversation) together(journal *session.Log) int {
	first, limit := c.Queue[0], most
	switch {
	case c.alone(first):
		return 1
	case !first.Stale.IsZero():
		limit = c.Agent.Now().QueueMax()
	case first.Queue(c.Agent.Now().Config.Session.Queue) != session.Collect:
		return 1
	}
	n, end := 1, len(c.Queue)
	for n < min(end, limit) {
		it := c.Queue[n]
		seq, seen := it.Seen(journal)
		if seq > 0 { // it has its end, and is answered again at its turn
			c.Shift(n, len(c.Queue)-1)
			end--
			continue
		}
		copied := slices.ContainsFunc(c.Queue[:n], func(other *message.Item) bool { return other.Input.ID == it.Input.ID })
		if it.Changes() && slices.ContainsFunc(c.Queue[:n], it.ChangesOf) && !copied {
			n++
			continue
		}
		unrated := !it.Unrated.IsZero() && !copied
		if it.Place == message.Spilling || it.Interjects() || it.Changes() || c.alone(it) || unrated || !c.due(it, nil) || !it.Alike(first) || seen != (it.Place == message.Logged) {
			break
		}
		if copied { // at its turn the log has it
			c.Shift(n, len(c.Queue)-1)
			end--
			continue
		}
		n++
	}
	return n
}

// collecting is the wait for more messages of one run.
type collecting struct {
	timer  *time.Timer // nil: nothing is waited for
	latest time.Time   // when that ends, whatever still comes; zero: it does not
}

// staleWait is how long a session waits for more of its backlog: what follows
// within that becomes one run with what came before.
const staleWait = time.Second

// collect begins a run, now or when no more comes, but not later than debounce_max
// after the first. Called with the lock held.
func (c *Conversation) collect(it *message.Item) {
	wait := c.debounce(it)
	switch most := it.DebounceMax(c.Agent.Now().Config.Session); {
	case wait == 0 || most == 0:
		c.latest = time.Time{}
	case c.timer == nil:
		c.latest = time.Now().Add(most)
	}
	if !c.latest.IsZero() {
		wait = max(min(wait, time.Until(c.latest)), 1)
	}
	c.wake(wait)
}

// debounce is how long to wait for more before a run begins.
func (c *Conversation) debounce(it *message.Item) time.Duration {
	if !it.Stale.IsZero() {
		return staleWait
	}
	if it.Binding == nil || it.Queue(c.Agent.Now().Config.Session.Queue) != session.Collect {
		return 0
	}
	return cmp.Or(it.Binding.Debounce, c.Agent.Now().Config.Session.Debounce)
}

func (c *Conversation) ripe() {
	c.mu.Lock()
	c.timer = nil
	c.wake(0)
	c.mu.Unlock()
	c.rest() // what it waited for may have been turned away
}
