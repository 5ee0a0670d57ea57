package conversation

import (
	"context"
	"errors"
	"time"

	"agenthost/agents/internal/hookvalue"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/tracing"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"
	"agenthost/session/inmemory"
)

// An openedLog is the log of a session while it is open. All but the token is guarded by the
// conversation.
type openedLog struct {
	opening chan struct{}      // a token: who has it may open the log
	journal *session.Log       // nil until opened
	read    *session.Log       // as it was read before; nil: read it
	owners  uint64             // of the runtime, when it was opened
	fresh   bool               // the log was opened just now
	reads   int                // how often it was read
	deleted *session.Tombstone // how far what was deleted of the session goes; nil: not looked up
	replied uint64             // the last commit with replies that this host has seen to
}

// open opens the log, unless it is open, and queues what waits in it. It tries
// until it can or the host stops.
func (c *Conversation) open() (*session.Log, error) {
	select {
	case <-c.opening:
		defer func() { c.opening <- struct{}{} }()
	case <-c.Agent.Work.Done():
		return nil, errStopping
	}
	owners := c.shared.Owners.Load()
	c.mu.Lock()
	if read := c.journal; read != nil && (read.Err() != nil || c.owners != owners) {
		c.forget()
		c.read = read
	}
	journal, read := c.journal, c.read
	if journal == nil {
		c.reads++
	}
	c.read = nil
	c.mu.Unlock()
	if journal != nil {
		return journal, nil
	}
	journal, err := c.load(read)
	if err != nil {
		return nil, err
	}
	if err := c.nameAsLogged(journal); err != nil {
		return nil, err
	}
	deleted, err := c.lookUpDeleted(journal)
	if err != nil {
		return nil, err
	}
	state := journal.State()
	c.mu.Lock()
	c.noteTried(journal)
	from := c.oldestUnsent(journal)
	c.journal, c.owners, c.fresh, c.deleted = journal, owners, true, deleted
	c.taken, c.suspended, c.leftLogged = state.Run != nil, state.Phase == run.InSuspense, false
	c.mergeWaiting(state.Waiting)
	over := c.takeUnknown(journal)
	c.refuseMissing()
	c.admitAll()
	c.mu.Unlock()
	for _, d := range over {
		d.Done()
	}
	c.commitRefusals(journal)
	if from > 0 {
		if err := c.out.CatchUp(journal, from); err != nil {
			return nil, err
		}
	}
	c.announce(state)
	return journal, nil
}

// load reads the log, unless nothing was written to it since it was read before.
func (c *Conversation) load(before *session.Log) (*session.Log, error) {
	if before != nil && before.IsCurrent(c.Agent.Work) {
		return before, nil
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		ctx, cancel := context.WithTimeout(c.Agent.Work, 30*time.Second)
		journal, err := c.Agent.Parts.Store.Open(ctx, c.Agent.ID, c.Key)
		cancel()
		if err == nil {
			return journal, nil
		}
		if c.Agent.Work.Err() != nil {
			return nil, errStopping
		}
		c.Few().Warn().Err(err).Msg("session cannot be opened; trying again")
		select {
		case <-time.After(wait):
		case <-c.Agent.Work.Done():
		}
	}
}

// errOutdated means that the log has to be read again.
var errOutdated = errors.New("another host may have written to the session")

// outdated reports whether the log was read before an answer came that nothing waits
// for in it. Messages and results of an agent come by two lanes, which two hosts may
// serve: the other one may have asked since, and no commit here would be refused. Called
// with the lock held.
func (c *Conversation) outdated(it *message.Item) bool { return it.LogReads >= c.reads }

// reread goes on with the log as it is now, once nothing is on its way into it: what
// screens that would share its inputs with the next run.
func (c *Conversation) reread() {
	c.mu.Lock()
	c.toReread = c.spilling
	if c.toReread { // endSpill goes on
		c.mu.Unlock()
		return
	}
	c.forget()
	c.mu.Unlock()
	c.shared.Schedule(c)
}

// announce fires the on_session_start hooks: the session is in memory.
func (c *Conversation) announce(state run.State) {
	if !c.Hooked(hooks.OnSessionStart) {
		return
	}
	reason := "resumed"
	if state.Phase == run.Idle && len(state.Waiting) == 0 {
		reason = "new"
	}
	c.Agent.Fire(hooks.OnSessionStart, c.Key, "", tracing.Context{}, hooks.Args{"key": hookvalue.Quoted(string(c.Key)), "reason": hookvalue.Quoted(reason)})
}

// Expired fires the on_session_end hooks: the conversation has left memory. It must not
// wait: it may run inside a Release.
func (c *Conversation) Expired(reason inmemory.Reason) {
	if !c.Opened() || !c.Hooked(hooks.OnSessionEnd) {
		return
	}
	c.shared.Ends.Go(func() {
		c.Agent.Fire(hooks.OnSessionEnd, c.Key, "", tracing.Context{}, hooks.Args{"key": hookvalue.Quoted(string(c.Key)), "reason": hookvalue.Quoted(reason.String())})
	})
}

// known reports whether the log has the input, or another with its id.
func known(journal *session.Log, it *message.Item) bool {
	_, seen := it.Seen(journal)
	return seen
}
