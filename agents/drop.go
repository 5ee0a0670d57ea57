package agents

import "agenthost/session"

// Drop drops a session from memory, as its log was deleted. Work in progress in
// it ends by itself: its next commit is refused.
func (f *Fleet) Drop(agent string, key session.Key) bool {
	r := f.Runtime(agent)
	return r != nil && r.sessions.Delete(key)
}
