package conversation

import (
	"context"
	"math"
	"sync"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/delivery"

	"golang.org/x/sync/singleflight"
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
	if it.Origin.Inbound == nil || it.Input.Seq <= c.handled {
		return false
	}
	if then != nil && !c.looking {
		c.looking = true
		subject, seq := it.Input.Subject, it.Input.Seq
		c.shared.Busy.Go(func() {
			upTo := c.awaitHandled(subject, seq)
			c.mu.Lock()
			c.looking, c.handled = false, max(c.handled, upTo)
			c.mu.Unlock()
			then()
		})
	}
	return true
}

// awaitHandled waits until all messages on a subject that came before a sequence are acknowledged,
// or the lane has brought one, but not for long: those of other sessions may take their time. It
// returns up to which sequence nothing has to wait any more.
func (c *Conversation) awaitHandled(subject string, seq uint64) (upTo uint64) {
	for end := time.Now().Add(otherLaneMost); time.Now().Before(end); {
		if c.hasLane() || c.shared.Yields() {
			return 0
		}
		f, err := c.shared.handled.of(subject, func() (floor, error) { return c.askHandled(subject) })
		switch {
		case err == nil && !f.taken:
			return seq
		case err == nil && f.upTo+1 >= seq: // what is behind that may wait for what the lane still brings
			return f.upTo + 1
		}
		bus.Pause(c.Agent.Work, otherLaneLook)
	}
	return math.MaxUint64
}

// askHandled asks NATS how far the lanes have handled a subject.
func (c *Conversation) askHandled(subject string) (floor, error) {
	ctx, cancel := context.WithTimeout(c.Agent.Work, bus.APITimeout)
	defer cancel()
	upTo, taken, err := delivery.Handled(ctx, c.Agent.Parts.JS, bus.InboundStream, subject)
	return floor{upTo, taken, time.Now()}, err
}

// handled is how far the lanes have handled subjects, as it was a moment ago: many sessions may
// wait for that after a takeover, and NATS is asked once for all of them.
type handled struct {
	asking singleflight.Group // by subject
	mu     sync.Mutex
	known  map[string]floor // by subject
}

// A floor is up to which sequence all that lanes take was acknowledged.
type floor struct {
	upTo  uint64
	taken bool
	at    time.Time
}

// of returns the floor of a subject, and asks for it where none is known or it is old.
func (h *handled) of(subject string, ask func() (floor, error)) (floor, error) {
	if f, ok := h.recent(subject); ok {
		return f, nil
	}
	f, err, _ := h.asking.Do(subject, func() (any, error) {
		f, err := ask()
		if err == nil {
			h.keep(subject, f)
		}
		return f, err
	})
	return f.(floor), err
}

func (h *handled) recent(subject string) (floor, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, ok := h.known[subject]
	return f, ok && time.Since(f.at) < otherLaneLook
}

func (h *handled) keep(subject string, f floor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = make(map[string]floor)
	}
	h.known[subject] = f
}

// hasLane reports whether the lane of its messages has brought one.
func (c *Conversation) hasLane() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lane != nil
}
