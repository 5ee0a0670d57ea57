package conversation

import (
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
