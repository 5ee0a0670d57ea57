package engine

import (
	"agenthost/agents"
	"agenthost/agents/internal/conversation"
)

// Runs are the runs of this host, in no order.
func (f *Fleet) Runs() []agents.RunStatus {
	var list []agents.RunStatus
	for _, r := range f.runtimes() {
		for _, p := range r.all() {
			list = append(list, p.runs()...)
		}
	}
	return list
}

func (r *Runtime) runs() []agents.RunStatus {
	queued := map[*conversation.Conversation]bool{}
	r.slots.mu.Lock()
	for _, c := range r.slots.ready {
		queued[c] = true
	}
	r.slots.mu.Unlock()
	var list []agents.RunStatus
	for entry := range r.sessions.All() {
		if s, ok := entry.Value.RunStatus(); ok {
			if queued[entry.Value] {
				s.Phase = agents.PhaseQueued
			}
			list = append(list, s)
		}
	}
	return list
}
