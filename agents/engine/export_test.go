package engine

import (
	"time"

	"agenthost/agents/internal/message"
	"agenthost/session"
)

// A Mailbox is the queue of a conversation as tests hold it.
type Mailbox struct{ c *conversation }

// NewMailbox is that of a conversation in which so much waits.
func NewMailbox(waiting int) Mailbox {
	m := Mailbox{newConversation(&Runtime{}, "web/dm/ana")}
	for range waiting {
		m.put(&message.Item{})
	}
	return m
}

func (m Mailbox) put(it *message.Item) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.receive(it)
}

// Turn puts an input in and takes the first out.
func (m Mailbox) Turn() {
	m.put(&message.Item{})
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.pop(1)
}

// HasLogOpen reports whether a session has its log in memory.
func (f *Fleet) HasLogOpen(agent string, key session.Key) bool {
	entry, ok := f.Runtime(agent).sessions.Get(key)
	return ok && entry.Value.opened()
}

// Relieve has the fleet act on the part of its memory that is in use.
func (f *Fleet) Relieve(percent int64, idle time.Duration) { f.relieve(percent, idle) }

// BrakePause is how long its lanes pause before each message.
func (f *Fleet) BrakePause() time.Duration { return f.brake.Pause() }
