package conversation

import "agenthost/agents/internal/message"

// A Mailbox is the queue of a conversation as tests hold it.
type Mailbox struct{ c *Conversation }

// NewMailbox is that of a conversation in which so much waits.
func NewMailbox(waiting int) Mailbox {
	m := Mailbox{New(&Shared{}, "web/dm/ana")}
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
