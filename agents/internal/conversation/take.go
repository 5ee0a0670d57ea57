package conversation

import (
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/message"
	"agenthost/session"
)

// take takes the inputs of the next run off the queue; there are several only
// where they are collected. What the log has answered is answered again from
// there. It ends with the error of a log that takes nothing any more.
func (c *Conversation) take(journal *session.Log) ([]*message.Item, error) {
	for {
		if err := journal.Err(); err != nil {
			return nil, err
		}
		if err := c.nameAsLogged(journal); err != nil {
			return nil, err
		}
		if err := c.leaveOutDeleted(journal); err != nil {
			return nil, err
		}
		c.endWithdrawn(journal)
		c.mu.Lock()
		c.urgentFirst(journal)
		c.ordersFirst()
		c.mu.Unlock()
		if c.block() {
			if c.shared.Yields() { // it may be too late to be sent off
				return nil, errStopping
			}
			return nil, nil
		}
		c.mu.Lock()
		wait := c.dropWithdrawn()
		if ended := len(c.refusals) > 0 && !c.refusing; ended {
			c.mu.Unlock()
			c.commitRefusals(journal)
			continue
		}
		if len(c.Queue) == 0 || c.Queue[0].Place == message.Spilling || wait {
			c.blocked = wait // until the commit has ended
			c.mu.Unlock()
			return nil, nil
		}
		it := c.Queue[0]
		seq, seen := it.Seen(journal)
		if it.Interjects() { // nothing is under way that it could be meant for
			if !seen && c.outdated(it) {
				c.mu.Unlock()
				return nil, errOutdated
			}
			c.pop(1)
			if answers.OperatorOrder(it) != "" && !seen {
				items := []*message.Item{it}
				c.taken, c.begins = true, items
				c.mu.Unlock()
				return items, nil
			}
			c.mu.Unlock()
			switch {
			case it.Delivery == nil:
			case answers.OperatorOrder(it) != "": // its reply may be lost
				c.Agent.Parts.Tell(it.Origin.Route, nil)
				if err := c.answerAgain(journal, it, seq); err != nil {
					return nil, err
				}
			case seen && it.Tried:
				if err := c.answeredAgain(journal, it, seq); err != nil {
					return nil, err
				}
			case seen:
				c.shared.Intake.Taken(it)
			default:
				c.shared.Intake.Late(it)
			}
			continue
		}
		if it.Changes() && (!seen || it.Place == message.Logged && seq == 0) {
			if c.hasTarget(it) {
				c.BehindTarget(it)
			} else {
				c.refuseMissed(it)
			}
			c.mu.Unlock()
			c.commitRefusals(journal)
			continue
		}
		if !seen && it.Late {
			c.pop(1)
			c.mu.Unlock()
			c.shared.Intake.LeaveOut(it)
			it.Delivery.Done()
			continue
		}
		operated := journal.State().Operator != nil && (it.Origin.Inbound == nil || it.Origin.Inbound.Answers == "")
		if !seen && !operated && c.passer().MayPass(it) {
			c.mu.Unlock()
			c.passOnSoon(journal, it)
			continue
		}
		if !seen && !it.Unrated.IsZero() { // it is no answer to anything
			if c.withinRate(journal, it) {
				it.Unrated = time.Time{}
			} else {
				c.pop(1)
			}
			c.mu.Unlock()
			c.commitRefusals(journal)
			continue
		}
		if !seen || it.Place == message.Logged && seq == 0 {
			n := c.together(journal)
			if c.blocked = c.UnsettledChange(n); c.blocked {
				c.mu.Unlock()
				return nil, nil
			}
			c.patient()
			items := c.edited(c.pop(n))
			c.taken, c.begins = true, items
			c.runsLogged = message.Delivered(items) < len(items)
			c.mu.Unlock()
			c.commitRefusals(journal)
			return items, nil
		}
		c.pop(1)
		c.mu.Unlock()
		if seq == 0 { // another message with its id waits in the log
			c.settle(message.DeliveriesOf([]*message.Item{it}))
			continue
		}
		if err := c.answerAgain(journal, it, seq); err != nil {
			return nil, err
		}
	}
}

// alone reports whether an input has a run of its own: an order, also one that an edit has made of
// it, or the answer to a question is not collected with messages. Called with the lock held.
func (c *Conversation) alone(it *message.Item) bool {
	in := c.saidNow(it)
	if in == nil {
		return false
	}
	return c.IsOrder(in) || in.Answers != ""
}
