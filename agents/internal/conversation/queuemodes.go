package conversation

import (
	"cmp"
	"slices"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/message"
	"agenthost/run"
	"agenthost/session"
)

// most is how many messages one run answers together.
const most = 100

// mode is how an input that comes during a run is treated.
func (c *Conversation) mode(it *message.Item) session.Queue {
	if it.Origin.Inbound == nil || !it.Stale.IsZero() {
		return session.Followup
	}
	if c.IsOrder(it.Origin.Inbound) || it.Origin.Inbound.Answers != "" || it.Changes() { // it is no part of what is under way
		return session.Followup
	}
	switch it.Origin.Inbound.Priority {
	case "now":
		return session.Interrupt
	case "later":
		return session.Followup
	}
	return it.Queue(c.Agent.Now().Config.Session.Queue)
}

// interjects takes an input off the queue if it is meant for the run. One that only
// interrupts the run stays, as the next. Called with the lock held.
func (c *Conversation) interjects(journal *session.Log, it *message.Item, left *run.Run) (candidate, bool) {
	none := candidate{}
	if c.unsure(journal, it) { // it waits for its turn, and is looked up
		return none, false
	}
	if c.HasChanges() && (it.Changes() || len(c.ChangedIn(it)) > 0) { // it is for what waits, or waits for its turn
		return none, false
	}
	sig, answers := c.reader().Answer(it, left)
	if !answers && !c.live.Any() && c.turnsAway(journal, it) {
		return none, false
	}
	mode := c.mode(it)
	if !answers && !c.live.Any() && mode != session.Steer && mode != session.Interrupt { // it waits for its turn, as most do
		return none, false
	}
	at := slices.Index(c.Queue, it)
	overRate := it.NotBefore.After(time.Now()) // then it keeps its place, unless it answers
	if at < 0 || known(journal, it) || c.inRun(it.Input.ID) || !answers && !c.live.Any() && overRate {
		return none, false
	}
	if c.answersLive(it, left) {
		c.takeOut(it)
		return candidate{it: it}, true
	}
	if answers {
		c.takeOut(it)
		return candidate{it: it, sig: sig}, true
	}
	if why := c.live.Unfit(it); why != nil {
		return candidate{it: it, refusal: why}, true
	}
	if c.live.Any() && mode != session.Interrupt && c.passer().MayPass(it) {
		return candidate{it: it, elsewhere: true}, true
	}
	if c.turnsAway(journal, it) {
		return none, false
	}
	if it.NotBefore.After(time.Now()) {
		mode = session.Followup
	}
	switch mode {
	case session.Steer:
		if slices.ContainsFunc(c.Queue[:at], c.keepsBack) {
			return none, false
		}
		if c.passer().MayPass(it) {
			return candidate{it: it, elsewhere: true}, true
		}
		c.takeOut(it)
		return candidate{it: it, notice: c.live.Notice(it), sig: run.Signal{
			Kind: run.Submit, At: time.Now(), Run: "steer:" + it.Input.ID, Inputs: []run.Input{it.Input}, Join: true,
		}}, true
	case session.Interrupt:
		if c.passer().MayPass(it) {
			return candidate{it: it, elsewhere: true}, true
		}
		c.Shift(at, c.nextTurn(it, at))
		return candidate{sig: run.Signal{
			Kind: run.Abort, At: time.Now(), Run: left.ID, By: "interrupt", Reason: c.Book(it).Say("stopped_for_newer"),
		}}, true
	}
	if notice := c.live.Notice(it); notice != "" {
		return candidate{it: it, notice: notice, stays: true}, true
	}
	return none, false
}

// nextTurn is where what interrupts the run belongs, which is at a place of the queue:
// behind what it may not pass. With priority it passes all that has none. Called with
// the lock held.
func (c *Conversation) nextTurn(it *message.Item, at int) (turn int) {
	now := it.Origin.Inbound.Priority == "now"
	for i, other := range c.Queue[:at] {
		if c.keepsBack(other) && (!now || other.Origin.Inbound.Priority == "now") {
			turn = i + 1
		}
	}
	return turn
}

// keepsBack reports whether what came later may not pass it: a message of the chat that
// has yet to be taken, unless it says itself that it can wait. The log may have it
// already, or it may be on its way there. Called with the lock held.
func (c *Conversation) keepsBack(it *message.Item) bool {
	in := it.Origin.Inbound
	return in != nil && in.Priority != "later" && c.waits(it) && !c.inRun(it.Input.ID)
}

// together is how many inputs at the head of the queue make one run. Called
// with the lock held.
func (c *Conversation) together(journal *session.Log) int {
	first, limit := c.Queue[0], most
	switch {
	case c.alone(first):
		return 1
	case !first.Stale.IsZero():
		limit = c.Agent.Now().QueueMax()
	case first.Queue(c.Agent.Now().Config.Session.Queue) != session.Collect:
		return 1
	}
	n, end := 1, len(c.Queue)
	for n < min(end, limit) {
		it := c.Queue[n]
		_, seen := it.Seen(journal)
		copied := slices.ContainsFunc(c.Queue[:n], func(other *message.Item) bool { return other.Input.ID == it.Input.ID })
		if it.Changes() && slices.ContainsFunc(c.Queue[:n], it.ChangesOf) && !copied {
			n++
			continue
		}
		unrated := !it.Unrated.IsZero() && !copied
		if it.Place == message.Spilling || it.Interjects() || it.Changes() || c.alone(it) || unrated || !c.due(it, nil) || !it.Alike(first) || seen != (it.Place == message.Logged) {
			break
		}
		if copied { // at its turn the log has it
			c.Shift(n, len(c.Queue)-1)
			end--
			continue
		}
		n++
	}
	return n
}

// collecting is the wait for more messages of one run.
type collecting struct {
	timer  *time.Timer // nil: nothing is waited for
	latest time.Time   // when that ends, whatever still comes; zero: it does not
}

// staleWait is how long a session waits for more of its backlog: what follows
// within that becomes one run with what came before.
const staleWait = time.Second

// collect begins a run, now or when no more comes, but not later than debounce_max
// after the first. Called with the lock held.
func (c *Conversation) collect(it *message.Item) {
	wait := c.debounce(it)
	switch most := it.DebounceMax(c.Agent.Now().Config.Session); {
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

// debounce is how long to wait for more before a run begins.
func (c *Conversation) debounce(it *message.Item) time.Duration {
	if !it.Stale.IsZero() {
		return staleWait
	}
	if it.Binding == nil || it.Queue(c.Agent.Now().Config.Session.Queue) != session.Collect {
		return 0
	}
	return cmp.Or(it.Binding.Debounce, c.Agent.Now().Config.Session.Debounce)
}

func (c *Conversation) ripe() {
	c.mu.Lock()
	c.timer = nil
	c.wake(0)
	c.mu.Unlock()
	c.rest() // what it waited for may have been turned away
}

// breaksIn reports whether an input is to stop the run that is under way when it comes.
// What has come to the host before has done so there. Called with the lock held.
func (c *Conversation) breaksIn(it *message.Item) bool {
	return !it.Tried && (it.Stops() || answers.OperatorOrder(it) != "" || c.mode(it) == session.Interrupt)
}
