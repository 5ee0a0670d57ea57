package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/mailbox"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/unsent"
	"agenthost/bus/delivery"
	"agenthost/session"
)

// A conversation is a session in memory: the queue of its inputs, its log while
// it is open, and what is on its way out. At most one run is at work in it.
type conversation struct {
	inflight.Session
	r     *Runtime
	nudge chan struct{} // something has come during a run
	openedLog

	mu    sync.Mutex                    // guards all that follows, but for out and overBudget
	entry *session.Entry[*conversation] // set while there is anything to do
	mailbox.Mailbox
	activity
	collecting
	suspension
	arrival
	liveAsks
	spillState
	refusalQueue

	out        outbox.Outbox // of replies
	overBudget atomic.Bool   // operators know that its budget is exceeded
}

// The activity of a conversation is what its run is at.
type activity struct {
	current *runner   // the run at work
	last    *runner   // the run that was, until its last commit is stored
	running bool      // a run is at work, or waits for a slot or its commit
	began   time.Time // when that was so last
	over    bool      // its run is at its end, but for the last commit
	taken   bool      // its inputs are not in the queue any more
	fences  int       // runs that broke off in a row
}

// An arrival is what is known of the messages that come.
type arrival struct {
	newest  uint64         // the highest sequence in AGENT_INBOUND that has come
	lane    *delivery.Lane // that brings its messages
	blocked bool           // the first of the queue waits for what the lane still brings
}

// mailboxSize is how many messages a conversation holds; what comes beyond goes to
// its log.
const mailboxSize = 32

func newConversation(r *Runtime, key session.Key) *conversation {
	c := &conversation{Session: inflight.Session{Agent: r.agent, Key: key}, r: r, nudge: make(chan struct{}, 1)}
	c.opening = make(chan struct{}, 1)
	c.Total = &r.queued
	c.opening <- struct{}{}
	return c
}

// reader reads inputs as answers.
func (c *conversation) reader() answers.Reader { return answers.Reader{Session: c.Session} }

// unsentReplies finds what of the log has not been published.
func (c *conversation) unsentReplies() unsent.Finder { return unsent.Finder{Session: c.Session} }

// opened reports whether the log was opened, ever since the conversation is in
// memory.
func (c *conversation) opened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.journal != nil
}

// push queues an input. It takes over the piece of work that entry stands for.
func (c *conversation) push(it *message.Item, entry *session.Entry[*conversation]) {
	c.mu.Lock()
	if c.entry == nil {
		c.entry, entry = entry, nil
		c.r.busy.Add(1)
	}
	if !it.Interjects() && !it.Origin.Guest() { // those come by another lane
		c.lane = it.Delivery.Lane()
	}
	if it.Origin.Inbound != nil {
		c.newest = max(c.newest, it.Input.Seq)
	}
	c.blocked, it.LogReads = false, c.reads
	journal := c.journal
	full := journal != nil && c.noRoom(it)
	switch {
	case c.ended(it):
		c.mu.Unlock()
		c.send(c.acknowledgement(it))
	case journal != nil && it.Changes() && !c.suspended && !known(journal, it) && !c.underWay(it.Input.ID) && !c.hasTarget(it):
		it.Refusal = c.missed(it) // at once, not after the run
		c.refusals = append(c.refusals, it)
		c.mu.Unlock()
		c.commitRefusals(journal)
	case full && c.underWay(it.Input.ID): // it has come again, and is handled once
		c.mu.Unlock()
		it.Delivery.Done()
	case full:
		c.refuseExcess(it)
		c.mu.Unlock()
		c.commitRefusals(journal)
	default:
		c.refusedFrom = 0
		c.receive(it)
		if c.running {
			c.poke()
		}
		c.collect(it)
		c.mu.Unlock()
	}
	if entry != nil {
		entry.Release()
	}
}

// newestInput is the sequence of the last message of the chat that has come.
func (c *conversation) newestInput() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest
}

// poke has the run under way look at the queue.
func (c *conversation) poke() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// setCurrent says whose run is at work. What has come before it may be for it.
func (c *conversation) setCurrent(t *runner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.watch.Again()
	if c.current = t; len(c.Queue) > 0 {
		c.poke()
	}
}

// leaveCurrent says that t is it no more; the next may be already.
func (c *conversation) leaveCurrent(t *runner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == t {
		c.current, c.last, c.over = nil, t, true
	}
}
