package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// An Event is what happens between a message and its reply. One field is set.
type Event struct {
	Chunk  *Chunk     // a piece of the reply, or the progress of a tool; only with Listen(true)
	Asked  *Waiting   // an approval or a question, once each
	Notice *bus.Route // what a host reports about an order of Answer or Stop
	Quiet  bool       // nothing has come for two seconds; once
	Reply  *Reply     // the last event
}

const (
	quietAfter   = 2 * time.Second
	publishRetry = time.Second
)

// Events are what happens after a message was sent, up to its reply. The channel
// is closed behind the reply, or without one when ctx ends or the connection is closed. stop
// ends it early and waits until it has ended; call it in any case, and before the next message.
//
// After NATS was away, or more came than is held, the message is sent again, in case its reply
// came meanwhile: the agent knows its id and does nothing twice.
func (c *Conversation) Events(ctx context.Context, m Message) (events <-chan Event, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan Event)
	go func() {
		defer close(out)
		c.follow(ctx, m, func(e Event) {
			select {
			case out <- e:
			case <-ctx.Done():
			}
		})
	}()
	return out, func() {
		cancel()
		for range out { // until it is closed
		}
	}
}

// Wait waits for the reply to a message that was sent, and passes what comes
// before it to each, which may be nil. Its error is why ctx has ended, or nats.ErrConnectionClosed.
func (c *Conversation) Wait(ctx context.Context, m Message, each func(Event)) (Reply, error) {
	events, stop := c.Events(ctx, m)
	defer stop()
	for e := range events {
		if e.Reply != nil {
			return *e.Reply, nil
		}
		if each != nil {
			each(e)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return Reply{}, err
	}
	return Reply{}, nats.ErrConnectionClosed
}

// follow emits what comes until the reply, or until ctx ends or the connection is closed.
func (c *Conversation) follow(ctx context.Context, m Message, emit func(Event)) {
	quiet := time.NewTimer(quietAfter)
	defer quiet.Stop()
	var retry <-chan time.Time
	for {
		select {
		case msg := <-c.received:
			if c.take(msg, m, emit) {
				return
			}
			quiet.Stop()
			if len(c.received) == 0 && c.lost() {
				retry = c.resend(ctx, m, emit)
			}
		case <-quiet.C:
			emit(Event{Quiet: true})
		case status := <-c.again:
			if status != nats.CONNECTED {
				c.takeRest(m, emit)
				return
			}
			retry = c.resend(ctx, m, emit)
		case <-retry:
			retry = c.resend(ctx, m, emit)
		case <-ctx.Done():
			return
		}
	}
}

// takeRest takes what came before the connection was closed, up to the reply.
func (c *Conversation) takeRest(m Message, emit func(Event)) {
	for {
		select {
		case msg := <-c.received:
			if c.take(msg, m, emit) {
				return
			}
		default:
			return
		}
	}
}

// lost reports whether more came than is held, since it was called last.
func (c *Conversation) lost() bool {
	dropped := 0
	for _, sub := range c.subs {
		n, _ := sub.Dropped() // none when it has ended
		dropped += n
	}
	before := c.dropped
	c.dropped = dropped
	return dropped > before
}

// take emits what a message means, and reports whether it was the reply to m.
func (c *Conversation) take(msg *nats.Msg, m Message, emit func(Event)) (done bool) {
	switch msg.Subject {
	case c.inbox:
		return takeResult(msg.Data, m, emit)
	case c.asks:
		if w, ok := readAsk(msg.Data); ok {
			c.emitAsk(w, emit)
		}
	default:
		for _, chunk := range c.follower.Take(msg) {
			if chunk.InReplyTo == m.ID || chunk.Call != "" { // not what others get in this session
				emit(Event{Chunk: &chunk})
			}
		}
	}
	return false
}

func takeResult(data []byte, m Message, emit func(Event)) (done bool) {
	r, err := bus.DecodeRoute(data)
	switch {
	case err != nil || r.Kind != bus.RouteResult:
		return false
	case r.InReplyTo != "" && r.InReplyTo != m.ID:
		emit(Event{Notice: &r})
		return false
	}
	emit(Event{Reply: &Reply{r, data}})
	return true
}

// emitAsk emits an approval or a question once, however often it comes: a host
// that takes over from another asks again.
func (c *Conversation) emitAsk(w Waiting, emit func(Event)) {
	if c.asked[w.ID] {
		return
	}
	if c.asked == nil {
		c.asked = map[string]bool{}
	}
	c.asked[w.ID] = true
	emit(Event{Asked: &w})
}

// emitMissed emits what was asked while NATS was away.
func (c *Conversation) emitMissed(ctx context.Context, emit func(Event)) error {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := allWaiting(ctx, c.client.js)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	for _, w := range list {
		if w.Kind != ForDelegate && w.Origin != nil && w.Origin.Subject == c.asks {
			c.emitAsk(w, emit)
		}
	}
	return err
}

// resend sends a message again after NATS was away: its reply may have come
// meanwhile, and no stream keeps it. It returns when to try once more.
func (c *Conversation) resend(ctx context.Context, m Message, emit func(Event)) <-chan time.Time {
	err := c.emitMissed(ctx, emit)
	if err == nil && c.follower != nil {
		err = c.follower.Ask()
	}
	if err == nil {
		_, err = c.publish(ctx, m, m.ID+":"+nuid.Next())
	}
	if err != nil {
		return time.After(publishRetry)
	}
	return nil
}

// A Message is one to an agent. Its ID makes it one message, however often it is
// sent.
type Message struct{ ID, Text string }

// NewMessage is a message with an id of its own.
func NewMessage(text string) Message { return Message{nuid.Next(), text} }

// A Receipt says where a message is stored, and which session it is for.
type Receipt struct {
	ID      string `json:"id"`
	Stream  string `json:"stream"`
	Seq     uint64 `json:"seq"`
	Session string `json:"session"` // the key of the session
}

// A Reply is the reply to a message.
type Reply struct {
	bus.Route
	Envelope []byte // as it came
}

// Err is why the agent has no reply, in words; nil when it has one.
func (r Reply) Err() error {
	if r.Error == nil || *r.Error == (bus.Error{}) {
		return nil
	}
	return fmt.Errorf("%s (%s)", cmp.Or(r.Error.Message, r.Text), r.Error.Code)
}
