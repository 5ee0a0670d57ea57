package agents

import (
	"time"
)

// A Mailbox is the queue of a conversation as tests hold it.
type Mailbox struct{ c *conversation }

// NewMailbox is that of a conversation in which so much waits.
func NewMailbox(waiting int) Mailbox {
	m := Mailbox{newConversation(&Runtime{}, "web/dm/ana")}
	for range waiting {
		m.put(&item{})
	}
	return m
}

func (m Mailbox) put(it *item) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.receive(it)
}

// Turn puts an input in and takes the first out.
func (m Mailbox) Turn() {
	m.put(&item{})
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.pop(1)
}

// Relieve has the fleet act on the part of its memory that is in use.
func (f *Fleet) Relieve(percent int64, idle time.Duration) { f.relieve(percent, idle) }

// BrakePause is how long its lanes pause before each message.
func (f *Fleet) BrakePause() time.Duration { return f.brake.Pause() }
