package conversation

import (
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/message"
)

// Speaking is what the model has said so far in the call under way, in pieces; nil when it
// says nothing.
func (c *Conversation) Speaking() []agents.Chunk {
	c.mu.Lock()
	t := c.current
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.Model.Speaking()
}

// Busy reports whether there is anything to do.
func (c *Conversation) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entry != nil
}

// AtWork reports whether a run is at work, or to begin.
func (c *Conversation) AtWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running || len(c.Queue) > 0
}

// OldestWaiting is when the oldest input was stored that waits for its turn; zero when none
// does.
func (c *Conversation) OldestWaiting() (oldest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range c.Queue {
		if it.Place != message.Repeated && !it.Stored.IsZero() && (oldest.IsZero() || it.Stored.Before(oldest)) {
			oldest = it.Stored
		}
	}
	return oldest
}

// RunStatus is the run of c, if one is at work or about to begin.
func (c *Conversation) RunStatus() (s agents.RunStatus, ok bool) {
	c.mu.Lock()
	t, since, running, over := c.current, c.began, c.running, c.over
	c.mu.Unlock()
	s = agents.RunStatus{Agent: c.Agent.ID, Session: string(c.Key), Since: since.UTC(), Phase: agents.PhaseStarting}
	switch {
	case t != nil:
		t.Describe(&s)
	case over:
		s.Phase = agents.PhaseStoring
	}
	return s, running || t != nil
}
