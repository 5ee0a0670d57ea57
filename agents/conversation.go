package agents

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"agenthost/agents/internal/outbox"
	"agenthost/bus/delivery"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// A conversation is a session in memory: the queue of its inputs, its log while
// it is open, and what is on its way out. At most one run is at work in it.
type conversation struct {
	r   *Runtime
	key session.Key

	opening chan struct{} // a token: who has it may open the log
	nudge   chan struct{} // something has come during a run

	mu      sync.Mutex
	entry   *session.Entry[*conversation] // set while there is anything to do
	journal *session.Log                  // nil until opened
	mailbox
	running bool        // a run is at work, or waits for a slot or its commit
	began   time.Time   // when that was so last
	over    bool        // its run is at its end, but for the last commit
	taken   bool        // its inputs are not in the queue any more
	timer   *time.Timer // collect: waits for more
	latest  time.Time   // when that ends, whatever still comes; zero: it does not
	// suspended tells that the run waits for somebody. Nothing is held then: what
	// comes and is no answer goes to the log.
	suspended bool
	noticed   bool // somebody was told so
	fresh     bool // the log was opened just now
	fences    int  // runs that broke off in a row

	newest  uint64         // the highest sequence in AGENT_INBOUND that has come
	lane    *delivery.Lane // that brings its messages
	blocked bool           // the first of the queue waits for what the lane still brings

	current *runner    // the run at work
	live    []*liveAsk // questions of its tools
	asked   int        // how many there have been

	spilling bool // spillAll is at work

	refusals    []*item // that are to be refused
	refusing    bool    // commitRefusals is at work
	refusedFrom uint64  // all that have come since this sequence were refused; 0: the last was not

	// anchor stays unacknowledged while the log holds inputs without a message
	// of their own, so that a takeover finds them.
	anchor *delivery.Delivery

	out outbox.Outbox // of replies

	toldExcess bool // that its budget is exceeded was told

	caughtUp uint64 // up to this commit of an owner before, replies were sent again
}

// mailboxSize is how many messages a conversation holds; what comes beyond goes to
// its log.
const mailboxSize = 32

func newConversation(r *Runtime, key session.Key) *conversation {
	c := &conversation{r: r, key: key, opening: make(chan struct{}, 1), nudge: make(chan struct{}, 1)}
	c.total = &r.queued
	c.opening <- struct{}{}
	return c
}

// log is made when there is something to log: a conversation at rest is small.
func (c *conversation) log() *zerolog.Logger { return c.named(c.r.parts.Log) }

// few is log for what may happen to all sessions at once.
func (c *conversation) few() *zerolog.Logger { return c.named(c.r.parts.few) }

func (c *conversation) named(log zerolog.Logger) *zerolog.Logger {
	log = log.With().Str("agent", c.r.id).Str("session", string(c.key)).Logger()
	return &log
}

// opened reports whether the log was opened, ever since the conversation is in
// memory.
func (c *conversation) opened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.journal != nil
}

// push queues an input. It takes over the piece of work that entry stands for.
func (c *conversation) push(it *item, entry *session.Entry[*conversation]) {
	c.mu.Lock()
	if c.entry == nil {
		c.entry, entry = entry, nil
		c.r.busy.Add(1)
	}
	if !it.interjects() && !it.origin.guest() { // those come by another lane
		c.lane = it.delivery.Lane()
	}
	if it.origin.inbound != nil {
		c.newest = max(c.newest, it.input.Seq)
	}
	c.blocked = false
	journal := c.journal
	full := journal != nil && c.noRoom(it)
	switch {
	case c.ended(it):
		c.mu.Unlock()
		c.send(c.acknowledgement(it))
	case journal != nil && it.changes() && !c.suspended && !known(journal, it) && !c.underWay(it.input.ID) && !c.hasTarget(it):
		it.refusal = c.missed(it) // at once, not after the run
		c.refusals = append(c.refusals, it)
		c.mu.Unlock()
		c.commitRefusals(journal)
	case full && c.underWay(it.input.ID): // it has come again, and is handled once
		c.mu.Unlock()
		it.delivery.Done()
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

// joinsQueue reports whether an input is one to wait for its turn, for which
// there may be no room. A run that waits may be waiting for it: then it is
// decided when it is looked at. Called with the lock held.
func (c *conversation) joinsQueue(it *item) bool {
	in := it.origin.inbound
	switch {
	case it.interjects() || c.suspended:
		return false
	case in == nil:
		return true
	}
	return in.Priority != "now" && in.Answers == "" && !it.stops() && !it.changes() && len(c.live) == 0
}

// underWay reports whether an input with that id waits here or is being
// answered. Called with the lock held.
func (c *conversation) underWay(id string) bool {
	return slices.ContainsFunc(c.queue, func(it *item) bool { return it.input.ID == id }) || c.current != nil && c.current.takes(id)
}

// ended reports whether it has come again, has its end, and all replies up to that
// one were sent again already: then it need not wait for its turn. Called with the
// lock held.
func (c *conversation) ended(it *item) bool {
	if c.caughtUp == 0 || c.journal == nil || it.interjects() {
		return false
	}
	seq, _ := it.seen(c.journal)
	return seq > 0 && seq <= c.caughtUp
}

// known reports whether the log has the input, or another with its id.
func known(journal *session.Log, it *item) bool {
	_, seen := it.seen(journal)
	return seen
}

// poke has the run under way look at the queue.
func (c *conversation) poke() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// debounce is how long to wait for more before a run begins.
func (c *conversation) debounce(it *item) time.Duration {
	if !it.stale.IsZero() {
		return staleWait
	}
	if it.binding == nil || it.queue(c.r.now().cfg.Session.Queue) != session.Collect {
		return 0
	}
	return it.binding.Debounce
}

// collect begins a run, now or when no more comes, but not later than debounce_max
// after the first. Called with the lock held.
func (c *conversation) collect(it *item) {
	wait := c.debounce(it)
	switch most := it.debounceMax(); {
	case wait == 0 || most == 0:
		c.latest = time.Time{}
	case c.timer == nil:
		c.latest = time.Now().Add(most)
	}
	if !c.latest.IsZero() {
		wait = max(min(wait, time.Until(c.latest)), 1)
	}
	c.wake(wait)
}

// debounceMax is how long the first of what is collected waits at most; 0: there is no
// bound, as for a backlog, which is there already.
func (it *item) debounceMax() time.Duration {
	if !it.stale.IsZero() || it.binding == nil {
		return 0
	}
	return cmp.Or(it.binding.DebounceMax, 5*it.binding.Debounce)
}

// wake begins a run if none is at work; after wait, counted anew with every
// input, when there is one. Called with the lock held.
func (c *conversation) wake(wait time.Duration) {
	switch {
	case c.running || !c.pressing():
	case c.timer != nil:
		c.timer.Reset(wait)
	case wait > 0 && !c.r.stopping.Load():
		c.timer = time.AfterFunc(wait, c.ripe)
	default:
		c.running, c.began, c.over = true, time.Now(), false
		c.r.schedule(c)
	}
}

func (c *conversation) ripe() {
	c.mu.Lock()
	c.timer = nil
	c.wake(0)
	c.mu.Unlock()
}

// proceed goes on after a run has ended: with the next, or to rest.
func (c *conversation) proceed() {
	c.mu.Lock()
	c.fences = 0
	c.mu.Unlock()
	c.idle()
}

// idle says that no run is at work any more, and begins the next if there is
// one. A log that has refused a commit beside the run is opened again first.
func (c *conversation) idle() {
	c.mu.Lock()
	if c.journal != nil && c.journal.Err() != nil {
		c.mu.Unlock()
		c.again(nil, c.ours)
		return
	}
	c.running, c.taken = false, false
	c.wake(0)
	c.mu.Unlock()
	c.rest()
}

// rest lets go of the conversation when there is nothing left to do in it. One
// that waits for somebody keeps nothing in memory.
func (c *conversation) rest() {
	c.mu.Lock()
	if c.entry == nil || c.running || c.spilling || c.refusing || len(c.refusals) > 0 || c.out.Sending() || c.timer != nil || c.pressing() || !c.suspended && len(c.queue) > 0 {
		c.mu.Unlock()
		return
	}
	if c.suspended {
		c.forget()
		c.suspended = false
	}
	entry, anchor := c.entry, c.anchor
	c.entry, c.anchor = nil, nil
	c.mu.Unlock()
	if anchor != nil {
		anchor.Done()
	}
	entry.Release()
	c.r.busy.Done()
}

// settle ends the deliveries of inputs whose replies are stored. While the log
// holds inputs that no message stands for, one stays as the anchor: the last, so
// that what was answered long ago does not come again after a takeover.
func (c *conversation) settle(deliveries []*delivery.Delivery) {
	c.mu.Lock()
	if last := len(deliveries) - 1; last >= 0 && !c.suspended && c.count[logged] > 0 {
		before := c.anchor
		c.anchor, deliveries = deliveries[last], deliveries[:last]
		if before != nil {
			deliveries = append(deliveries, before)
		}
	}
	c.mu.Unlock()
	for _, d := range deliveries {
		d.Done()
	}
}

// leave gives up everything that is not begun: it stays unacknowledged.
func (c *conversation) leave() {
	c.mu.Lock()
	if c.timer != nil && c.timer.Stop() {
		c.timer = nil
	}
	ready := len(c.queue)
	for i, it := range c.queue {
		if it.place == spilling { // its commit tells what becomes of it
			ready = i
			break
		}
	}
	items, anchor := append(c.pop(ready), c.refusals...), c.anchor
	c.anchor, c.running, c.taken, c.journal, c.refusals = nil, false, false, nil, nil
	c.mu.Unlock()
	if anchor != nil {
		anchor.Leave()
	}
	leaveAll(deliveriesOf(items))
	c.rest()
}

func leaveAll(deliveries []*delivery.Delivery) {
	for _, d := range deliveries {
		d.Leave()
	}
}

// delivered counts the items whose message is held.
func delivered(items []*item) int {
	n := 0
	for _, it := range items {
		if it.delivery != nil {
			n++
		}
	}
	return n
}

func deliveriesOf(items []*item) []*delivery.Delivery {
	list := make([]*delivery.Delivery, 0, len(items))
	for _, it := range items {
		if it.delivery != nil {
			list = append(list, it.delivery)
		}
	}
	return list
}

// setCurrent says whose run is at work. What has come before it may be for it.
func (c *conversation) setCurrent(t *runner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.watch.again()
	if c.current = t; len(c.queue) > 0 {
		c.poke()
	}
}

// leaveCurrent says that t is it no more; the next may be already.
func (c *conversation) leaveCurrent(t *runner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == t {
		c.current, c.over = nil, true
	}
}
