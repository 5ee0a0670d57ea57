package agents

import (
	"context"
	"time"
)

// A Till is a ledger as tests hold it.
type Till struct{ ledger *ledger }

// NewTill makes the ledger of an agent on one host.
func NewTill(agent, host string, parts *Parts, life time.Duration) Till {
	p := *parts
	p.Host = host
	return Till{newLedger(agent, &p, life)}
}

// Reserve asks for leave to spend amount, input of it for sure.
func (t Till) Reserve(ctx context.Context, input, amount, limit int64) (bool, error) {
	return t.ledger.today(time.Now()).reserve(ctx, &claim{input: input, amount: amount, limit: limit})
}

// Settle books what was spent in the place of what was reserved.
func (t Till) Settle(reserved, cost int64) { t.ledger.today(time.Now()).settle(reserved, cost) }

// Close waits until all is written.
func (t Till) Close() { t.ledger.close() }

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
	m.c.insert(it)
}

// Turn puts an input in and takes the first out.
func (m Mailbox) Turn() {
	m.put(&item{})
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.pop(1)
}
