package conversation

import (
	"errors"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/mailbox"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/runner"
	"agenthost/bus/publishing"
	"agenthost/run"
	"agenthost/session"
	"agenthost/session/inmemory"

	"github.com/nats-io/nuid"
)

// errStopping ends work that the host has no more time for.
var errStopping = inflight.ErrStopping

// The activity of a conversation is what its run does. It is guarded by the conversation.
type activity struct {
	entry   *inmemory.Entry[*Conversation] // set while there is anything to do
	current *runner.Runner                 // the run at work
	watched mailbox.Watch                  // of the queue, for what is meant for that run
	looks   time.Time                      // when the run at work looks at all of the queue once more; zero, or over: it was not to
	last    *runner.Runner                 // the run before it, until its last commit is stored
	running bool                           // a run is at work, or waits for a slot or its commit
	began   time.Time                      // when running was set last
	over    bool                           // only the last commit of the run is left to do
	taken   bool                           // the inputs of the run are not in the queue any more
	begins  []*message.Item                // those inputs, until the run is at work: hooks may take their time with them
	fences  int                            // runs that broke off in a row
	tried   bool                           // it has asked for a try as a suspect; only its work touches this
}

// wake begins a run if none is at work. With a wait it begins that long after the
// last input. Called with the lock held.
func (c *Conversation) wake(wait time.Duration) {
	switch {
	case c.running || !c.pressing():
	case c.timer != nil:
		c.timer.Reset(wait)
	case wait > 0 && !c.shared.Yields():
		c.timer = time.AfterFunc(wait, c.ripe)
	default:
		c.running, c.began, c.over = true, time.Now(), false
		c.shared.Schedule(c)
	}
}

// Work does what is next in the conversation, up to the end of one run. It
// holds a slot, which is free again when the last commit is on its way.
func (c *Conversation) Work() {
	if c.shared.Yields() {
		c.endTry()
		c.leave()
		return
	}
	if c.awaitsFormer() {
		return
	}
	journal, err := c.open()
	if err != nil {
		c.endTry()
		c.leave()
		return
	}
	if left := journal.State().Run; left != nil {
		c.resumeRun(journal, left)
		return
	}
	c.endTry() // another host has ended the run meanwhile
	items, err := c.take(journal)
	switch {
	case errors.Is(err, errOutdated):
		c.reread()
	case err != nil && errors.Is(err, journal.Err()):
		c.brokeOff(nil, err)
	case err != nil:
		c.leave()
	case len(items) == 0:
		c.proceed()
	case items[0].Interjects():
		c.endBetween(items, c.operate(journal, items[0]))
	case journal.State().Operator != nil:
		c.endBetween(c.record(journal, items))
	default:
		c.begin(journal, items)
	}
}

// begin runs items that were taken off the queue.
func (c *Conversation) begin(journal *session.Log, items []*message.Item) {
	id := nuid.Next()
	if items = c.leaveOutRefused(journal, id, items); len(items) == 0 {
		c.proceed()
		return
	}
	t := c.runs.New(journal, id, items)
	c.end(t, t.Start())
}

// resumeRun goes on with the run that the log has.
func (c *Conversation) resumeRun(journal *session.Log, left *run.Run) {
	switch {
	case journal.State().Phase == run.InSuspense:
		c.endTry()
		c.workSuspended(journal, left)
	case c.waitsAlone(left):
	default:
		t := c.unfinished(journal, left)
		err := t.Resume()
		c.endTry()
		c.end(t, err)
	}
}

// end deals with a run that did not come to its end. One that did goes on by
// itself, when its commit is stored.
func (c *Conversation) end(t *runner.Runner, err error) {
	if err != nil {
		defer t.Stored.Store(true)
	}
	switch {
	case err == nil:
	case errors.Is(err, runner.ErrSuspended):
		c.suspend(t)
	case errors.Is(err, errStopping), errors.Is(err, publishing.ErrClosed):
		message.LeaveAll(message.DeliveriesOf(t.Items))
		c.leave()
	default:
		c.brokeOff(t.Items, err)
	}
}

// unfinished is the run that an owner before has left, with the messages of it
// that have come again.
func (c *Conversation) unfinished(journal *session.Log, left *run.Run) *runner.Runner {
	c.mu.Lock()
	var items []*message.Item
	for _, in := range left.Inputs {
		if it := c.Find(in.ID, (*message.Item).Again); it != nil {
			items = append(items, it)
			c.takeOut(it)
		}
	}
	c.runsLogged = message.Delivered(items) < len(left.Inputs)
	c.mu.Unlock()
	t := c.runs.New(journal, left.ID, items)
	t.TakeUp(left)
	return t
}
