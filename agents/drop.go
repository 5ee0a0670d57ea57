package agents

import (
	"context"

	"agenthost/session"
)

// Owns reports whether this host is the one of the fleet that serves an agent: the
// first of its lanes that was ever served decides.
func (f *Fleet) Owns(ctx context.Context, agent string) (bool, error) {
	if f.Runtime(agent) == nil {
		return false, nil
	}
	return f.lanes.Owns(ctx, agent)
}

// Busy reports whether there is anything to do in a session on this host.
func (f *Fleet) Busy(agent string, key session.Key) bool {
	r := f.Runtime(agent)
	if r == nil {
		return false
	}
	entry, ok := r.sessions.Get(key)
	if !ok {
		return false
	}
	c := entry.Value
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entry != nil
}

// Drop drops a session from memory, as its log was deleted. Work in progress in
// it ends by itself: its next commit is refused.
func (f *Fleet) Drop(agent string, key session.Key) bool {
	r := f.Runtime(agent)
	return r != nil && r.sessions.Delete(key)
}
