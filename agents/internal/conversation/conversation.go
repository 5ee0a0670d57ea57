package conversation

import (
	"sync"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/liveask"
	"agenthost/agents/internal/mailbox"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/replies"
	"agenthost/agents/internal/runner"
	"agenthost/bus/delivery"
	"agenthost/session"
	"agenthost/session/inmemory"
)

// A Conversation is a session in memory: the queue of its inputs, its log while
// it is open, and what is on its way out. At most one run is at work in it.
type Conversation struct {
	inflight.Session
	shared *Shared
	openedLog

	mu sync.Mutex // guards all that follows, but for live, out and runs
	mailbox.Mailbox
	activity
	suspension
	arrival
	spillState
	refusalQueue

	live liveask.Questions // of tools at work
	out  replies.Sender    // of its replies
	runs runner.Runs
}

// An arrival is what is known of the messages that come.
type arrival struct {
	collecting
	newest  uint64         // the highest sequence in AGENT_INBOUND that has come
	lane    *delivery.Lane // that brings its messages
	blocked bool           // the first of the queue waits for what the lane still brings
	looking bool           // it is found out whether a lane that has brought nothing yet may bring something older
	handled uint64         // nothing up to here waits for that, since the log was opened
}

// mailboxSize is how many messages a conversation holds; what comes beyond goes to
// its log.
const mailboxSize = 32

// sparePlaces are those of a full queue for what need not wait for its turn.
const sparePlaces = 32

// New makes the conversation of a session.
func New(s *Shared, key session.Key) *Conversation {
	c := &Conversation{Session: inflight.Session{Agent: s.Agent, Key: key}, shared: s}
	c.opening = make(chan struct{}, 1)
	c.live.Session = c.Session
	c.out.Session, c.out.Sent = c.Session, c.rest
	c.runs = runner.Runs{
		Session: c.Session, Conversation: (*view)(c), Intake: s.Intake, Retired: s.Retired, Live: &c.live, Out: &c.out,
		Nudge: make(chan struct{}, 1),
	}
	c.Total = &s.Queued
	c.opening <- struct{}{}
	return c
}

// reader reads inputs as answers.
func (c *Conversation) reader() answers.Reader { return answers.Reader{Session: c.Session} }

// Opened reports whether the log is open.
func (c *Conversation) Opened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.journal != nil
}

// Push queues an input. It takes over the piece of work that entry stands for.
func (c *Conversation) Push(it *message.Item, entry *inmemory.Entry[*Conversation]) {
	c.mu.Lock()
	if c.entry == nil {
		c.entry, entry = entry, nil
		c.shared.Busy.Add(1)
	}
	if lane := it.Delivery.Lane(); lane.BringsAll() || !it.Interjects() && !it.Origin.Guest() { // those come by another lane else
		c.lane = lane
	}
	if it.Origin.Inbound != nil {
		c.newest = max(c.newest, it.Input.Seq)
	}
	c.blocked, it.LogReads = false, c.reads
	journal := c.journal
	full := journal != nil && c.noRoom(it)
	switch {
	case c.isErasedItem(it):
		c.mu.Unlock()
		it.Delivery.Done()
		c.rest()
	case c.ended(it):
		c.mu.Unlock()
		c.out.Send(c.acknowledgement(it))
	case journal != nil && c.isOver(journal, it):
		c.mu.Unlock()
		it.Delivery.Done()
		c.rest()
	case journal != nil && !it.Unrated.IsZero() && !c.mayAnswerHere(journal) && !c.passer().MayPass(it) && !c.withinRateInTurn(journal, it):
		c.mu.Unlock()
		c.commitRefusals(journal)
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
		taken := c.receive(it)
		if c.running {
			c.runs.Poke()
		}
		if taken {
			c.collect(it)
		}
		c.mu.Unlock()
		if !taken {
			c.commitRefusals(journal)
		}
	}
	if entry != nil {
		entry.Release()
	}
}
