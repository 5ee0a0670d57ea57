package conversation

import (
	"slices"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/message"
	"agenthost/run"
	"agenthost/session"
)

// A candidate is an input of the queue that is not for its turn alone while a run is under way.
type candidate struct {
	it        *message.Item // nil: it stays in the queue
	sig       run.Signal    // without a kind: a tool that asks has its answer
	notice    string        // what the person has yet to be told that it waits for
	refusal   *run.Error    // why it is no answer to the question that it names
	stays     bool          // it stays in the queue, for its turn
	elsewhere bool          // it stays in the queue until it is known whether a run elsewhere has asked for it
}

// interjection takes the first input off the queue that is meant for the run
// under way, of those that it has not looked at yet.
func (c *Conversation) interjection(journal *session.Log) (candidate, bool) {
	left := journal.State().Run
	if left == nil {
		return candidate{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watch()
	if w == nil {
		return candidate{}, false
	}
	list := w.Take(c.Queue, left, c.Agent.Now())
	for i, it := range list {
		if it.Place != message.Held && it.Place != message.Spilled {
			continue
		}
		found, ok := c.interjects(journal, it, left)
		switch {
		case found.elsewhere: // to be looked at once more
			w.PutBack(list[i:])
			return found, true
		case ok:
			w.PutBack(list[i+1:])
			return found, true
		}
	}
	return candidate{}, false
}

// interjects takes an input off the queue if it is meant for the run. One that only
// interrupts the run stays, as the next. Called with the lock held.
func (c *Conversation) interjects(journal *session.Log, it *message.Item, left *run.Run) (candidate, bool) {
	none := candidate{}
	if c.unsure(journal, it) || mayBeLoggedByOwnID(journal, it) { // it waits for its turn, and is looked up
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
	if at < 0 || known(journal, it) || c.inRun(it.Input.ID) {
		return none, false
	}
	if !answers && mode == session.Interrupt && c.overRate(it) {
		if c.urgent(it) {
			c.bringForward(at)
			at = slices.Index(c.Queue, it)
		}
		if c.overRate(it) {
			c.lookWhenDue(it)
		}
	}
	if !answers && !c.live.Any() && c.overRate(it) { // it keeps its place, unless it answers
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
	if c.overRate(it) {
		mode = session.Followup
	}
	switch mode {
	case session.Steer:
		if slices.ContainsFunc(c.Queue[:at], c.keepsBack) {
			return none, false
		}
		if !c.sharesAnswer(it) {
			break
		}
		if c.passer().MayPass(it) {
			return candidate{it: it, elsewhere: true}, true
		}
		if c.pausedFor(it) {
			break
		}
		c.takeOut(it)
		return candidate{it: it, notice: c.live.Notice(it), sig: run.Signal{
			Kind: run.Submit, At: time.Now(), Run: "steer:" + it.Input.ID, Inputs: []run.Input{it.Input}, Join: true,
		}}, true
	case session.Interrupt:
		if c.passer().MayPass(it) {
			return candidate{it: it, elsewhere: true}, true
		}
		if c.pausedFor(it) {
			break
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

// sharesAnswer reports whether the answer of the run at work reaches the sender of an input
// that could join it. Called with the lock held.
func (c *Conversation) sharesAnswer(it *message.Item) bool {
	of, err := c.current.Origin()
	return err == nil && it.Origin.SharesAnswer(of)
}

// nextTurn is where what interrupts the run belongs, which is at a place of the queue:
// behind what it may not pass. With priority it passes all that has none, but for an order to
// start afresh: before that it would be said in the session that is to be forgotten. Called with
// the lock held.
func (c *Conversation) nextTurn(it *message.Item, at int) (turn int) {
	now := it.Origin.Inbound.Priority == "now"
	for i, other := range c.Queue[:at] {
		if c.keepsBack(other) && (!now || other.Origin.Inbound.Priority == "now" || other.StartsAfresh()) {
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
		if it.Patient {
			return session.Followup
		}
		return session.Interrupt
	case "later":
		return session.Followup
	}
	return it.Queue(c.Agent.Now().Config.Session.Queue)
}

// breaksIn reports whether an input is to stop the run that is under way when it comes.
// What has come to the host before has done so there. What is to wait for the end of a pause stops
// nothing, and is looked at once more then. Called with the lock held.
func (c *Conversation) breaksIn(it *message.Item) bool {
	return !it.Tried && (it.Stops() || answers.OperatorOrder(it) != "" || c.mode(it) == session.Interrupt && !c.paused(it, c.Unblock))
}
