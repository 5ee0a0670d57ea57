package conversation

import (
	"context"
	"sync"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/delivery"
)

// Results, deadlines and reminders come by other lanes than the messages of a chat. After a
// takeover one of those may open the log first: what the log has accepted then waits for what was
// said before it, and is not acknowledged. An edit would miss its message else.

const (
	otherLaneMost = 10 * time.Second // as long as a takeover takes
	otherLaneLook = 250 * time.Millisecond
)

// awaitsLane reports whether a message that only the log has waits for the lane of the messages,
// which has brought none to this session yet. If so, then is called once that is over; nil asks
// only. Called with the lock held.
func (c *Conversation) awaitsLane(it *message.Item, then func()) bool {
	if it.Origin.Inbound == nil || c.waited {
		return false
	}
	if then != nil && !c.looking {
		c.looking = true
		subject, seq := it.Input.Subject, it.Input.Seq
		c.shared.Busy.Go(func() {
			c.awaitHandled(subject, seq)
			c.mu.Lock()
			c.looking, c.waited = false, true
			c.mu.Unlock()
			then()
		})
	}
	return true
}

// awaitHandled waits until all messages on a subject that came before a sequence are acknowledged,
// or the lane has brought one, but not for long: those of other sessions may take their time.
func (c *Conversation) awaitHandled(subject string, seq uint64) {
	for end := time.Now().Add(otherLaneMost); time.Now().Before(end) && !c.hasLane() && !c.shared.Yields(); {
		upTo, taken, err := c.shared.handled.of(c.Agent, subject)
		if err == nil && (!taken || upTo+1 >= seq) {
			return
		}
		bus.Pause(c.Agent.Work, otherLaneLook)
	}
}

// handled is how far the lanes have handled subjects, as it was a moment ago: many sessions may
// wait for that after a takeover, and NATS is asked once for all of them.
type handled struct {
	mu    sync.Mutex
	known map[string]floor // by subject
}

// A floor is up to which sequence all that lanes take was acknowledged.
type floor struct {
	upTo  uint64
	taken bool
	at    time.Time
}

func (h *handled) of(agent *inflight.Agent, subject string) (upTo uint64, taken bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f, ok := h.known[subject]; ok && time.Since(f.at) < otherLaneLook {
		return f.upTo, f.taken, nil
	}
	ctx, cancel := context.WithTimeout(agent.Work, bus.APITimeout)
	defer cancel()
	upTo, taken, err = delivery.Handled(ctx, agent.Parts.JS, bus.InboundStream, subject)
	if err != nil {
		return 0, false, err
	}
	if h.known == nil {
		h.known = make(map[string]floor)
	}
	h.known[subject] = floor{upTo, taken, time.Now()}
	return upTo, taken, nil
}

// hasLane reports whether the lane of its messages has brought one.
func (c *Conversation) hasLane() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lane != nil
}
