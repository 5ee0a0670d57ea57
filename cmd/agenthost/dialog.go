package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A dialog is a conversation of this program with one agent, in a session of
// its own. It is for one goroutine.
type dialog struct {
	agent, from, session string

	nc       *nats.Conn
	js       jetstream.JetStream
	inbox    string
	follower *control.Follower // nil: only answers are of interest
	asks     string            // where the agent, and who works for it, ask the person
	received chan *nats.Msg    // answers, pieces of them and asks, in the order they came
	asked    map[string]bool
	again    chan nats.Status
	subs     []*nats.Subscription
}

// A question is a message to the agent.
type question struct{ id, text string }

// An answer is how a question ended.
type answer struct {
	bus.Route
	envelope []byte
}

// A listener is told of what comes before the answer. Each may be nil.
type listener struct {
	chunk func(control.Chunk)
	quiet func()                // nothing has come for a while; called once
	asked func(control.Waiting) // somebody asks for an approval or has a question; called once for each
	told  func(bus.Route)       // the word of a host to an order
	lines func() <-chan line    // what the person types, while anybody wants to know
	typed func(line, bool) error
}

const (
	quietAfter = 2 * time.Second
	// received holds what a model says while a terminal is slow.
	receivedSize = 4096
	publishRetry = time.Second
)

// newDialog makes a dialog that receives nothing yet.
func newDialog(nc *nats.Conn, js jetstream.JetStream, agent, from, session string) *dialog {
	return &dialog{agent: agent, from: from, session: session, nc: nc, js: js}
}

// listen makes answers, and with stream pieces of them, come in, until close.
func (d *dialog) listen(stream bool) error {
	d.inbox, d.asks = d.nc.NewInbox(), d.nc.NewInbox()
	d.received = make(chan *nats.Msg, receivedSize)
	subjects := []string{d.inbox, d.asks}
	if stream {
		d.follower = control.NewFollower(d.nc, d.agent, control.RouteKey(d.from, d.session))
		subjects = append(subjects, d.follower.Subjects()...)
	}
	for _, subject := range subjects {
		sub, err := d.nc.ChanSubscribe(subject, d.received)
		if err != nil {
			return fmt.Errorf("listen for answers of %s: %w", d.agent, err)
		}
		d.subs = append(d.subs, sub)
	}
	d.again = d.nc.StatusChanged(nats.CONNECTED)
	return nil
}

func (d *dialog) close() {
	for _, sub := range d.subs {
		_ = sub.Unsubscribe() // the connection may be gone
	}
	if d.again != nil {
		d.nc.RemoveStatusListener(d.again)
	}
}

// send publishes a question. It returns when the stream has it.
func (d *dialog) send(ctx context.Context, q question) (*jetstream.PubAck, error) {
	return d.publish(ctx, q, q.id)
}

func newQuestion(text string) question { return question{nuid.Next(), text} }

func (d *dialog) publish(ctx context.Context, q question, msgID string) (*jetstream.PubAck, error) {
	task := bus.Route{
		ID: q.id, Kind: bus.RouteDelegate, From: d.from, CorrelationID: d.session, Text: q.text, ReplyTo: d.inbox, Door: bus.DoorCLI,
	}
	if d.asks != "" {
		task.Origin = &bus.Origin{Session: d.session, Subject: d.asks, To: d.from}
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+d.agent, task)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	msg.Header.Set(nats.MsgIdHdr, msgID)
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	if err := sign(ctx, d.js, msg); err != nil {
		return nil, fmt.Errorf("send to %s: %w", d.agent, err)
	}
	ack, err := d.js.PublishMsg(ctx, msg)
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return nil, fmt.Errorf(`send to %s: no stream takes it, as no host has run on this NATS yet; start one with "agenthost run"`, d.agent)
	case err != nil:
		return nil, fmt.Errorf("send to %s: %w", d.agent, err)
	}
	return ack, nil
}

// answer waits for the answer to a question that was sent. It returns an error
// only when ctx ends, or when typed does.
func (d *dialog) answer(ctx context.Context, q question, l listener) (answer, error) {
	quiet := time.NewTimer(quietAfter)
	defer quiet.Stop()
	var retry <-chan time.Time
	for {
		select {
		case msg := <-d.received:
			if a, ok := d.receive(msg, q, l); ok {
				return a, nil
			}
			quiet.Stop()
		case typed, ok := <-l.input():
			if err := l.typed(typed, ok); err != nil {
				return answer{}, err
			}
		case <-quiet.C:
			if l.quiet != nil {
				l.quiet()
			}
		case <-d.again:
			retry = d.askAgain(ctx, q, l)
		case <-retry:
			retry = d.askAgain(ctx, q, l)
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

func (l listener) input() <-chan line {
	if l.lines == nil {
		return nil
	}
	return l.lines()
}

// askAgain sends a question again after NATS was away: its answer may have come
// meanwhile, and nobody keeps it. The agent knows the id and does nothing twice.
// What it returns tells when to try once more.
func (d *dialog) askAgain(ctx context.Context, q question, l listener) <-chan time.Time {
	err := d.missed(ctx, l)
	if err == nil && d.follower != nil {
		err = d.follower.Ask()
	}
	if err == nil {
		_, err = d.publish(ctx, q, q.id+":"+nuid.Next())
	}
	if err != nil {
		return time.After(publishRetry)
	}
	return nil
}

// receive is the answer, if msg is the one to q.
func (d *dialog) receive(msg *nats.Msg, q question, l listener) (answer, bool) {
	switch msg.Subject {
	case d.inbox:
	case d.asks:
		d.receiveAsk(msg.Data, l)
		return answer{}, false
	default:
		for _, c := range d.follower.Take(msg) {
			if l.chunk != nil && (c.InReplyTo == q.id || c.Call != "") { // not what others are told in this session
				l.chunk(c)
			}
		}
		return answer{}, false
	}
	r, err := bus.DecodeRoute(msg.Data)
	switch {
	case err != nil || r.Kind != bus.RouteResult:
		return answer{}, false
	case r.InReplyTo != "" && r.InReplyTo != q.id:
		if l.told != nil {
			l.told(r)
		}
		return answer{}, false
	}
	return answer{r, msg.Data}, true
}

// err is why the agent has no answer, in words; nil when it has one.
func (a answer) err() error {
	if a.Error == nil || *a.Error == (bus.Error{}) {
		return nil
	}
	words := a.Error.Message
	if words == "" {
		words = a.Text
	}
	return fmt.Errorf("%s (%s)", words, a.Error.Code)
}
