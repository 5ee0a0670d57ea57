package engine

import (
	"time"

	"agenthost/agents/internal/lanes"
	"agenthost/session"
)

// LaneOf is the lane of an agent, of count.
func LaneOf(agent string, count int) int { return lanes.Of(agent, count) }

// HasLogOpen reports whether a session has its log in memory.
func (f *Fleet) HasLogOpen(agent string, key session.Key) bool {
	entry, ok := f.Runtime(agent).sessions.Get(key)
	return ok && entry.Value.Opened()
}

// Relieve has the fleet act on the part of its memory that is in use.
func (f *Fleet) Relieve(percent int64, idle time.Duration) { f.relieve(percent, idle) }

// BrakePause is how long its lanes pause before each message.
func (f *Fleet) BrakePause() time.Duration { return f.brake.Pause() }

// Reread has all sessions read their logs again, as when the lane comes back from another host.
func (r *Runtime) Reread() { r.shared.Owners.Add(1) }
