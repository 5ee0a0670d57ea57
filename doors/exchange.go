package doors

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

const (
	// storeWithin bounds what a request waits until NATS has it.
	storeWithin = 5 * time.Second
	// idleAfter is when an exchange says that it is still there: a client must hear
	// something every 10 s.
	idleAfter = 8 * time.Second
	// mostChunks may come while a client is slow; what is lost beyond that is asked for.
	mostChunks = 1024
)

// ErrAway is wrapped when NATS does not take a message now.
var ErrAway = errors.New("NATS is away; try again")

// stopOrder is what a person writes to end a run.
const stopOrder = "/stop"

// An Exchange is a message and what comes of it. It is for one goroutine, but for
// Answer, Cancel and Stop.
type Exchange struct {
	// ID is that of the message.
	ID string
	// Repeated says that NATS had it already.
	Repeated bool

	desk  *Desk
	place Place
	ids   []string // of the message, and of those that it may answer

	mu      sync.Mutex
	queue   []bus.Outbound
	more    chan struct{}   // has one element when queue grew
	answers map[string]bool // the ids of those that it gave

	taken      bool          // something came of the message: a run has it
	withdrawal string        // the id of the message by which Cancel withdraws it
	refused    chan struct{} // closed when that is answered
}

// An Event is something that came of a message. The zero Event is a sign of life: for a
// while nothing came of the text that a client reads.
type Event struct {
	Chunk *client.Chunk // of the text that the model writes
	// Out is what the agent says: an approval, a question, a notice, and the reply or
	// error that is Final.
	Out *bus.Outbound
	// Refused is why an answer of the exchange does not count: what it answers still waits.
	Refused *bus.Outbound
}

// Send stores a message, and listens for what comes of it until Close. That NATS does
// not take it now wraps ErrAway, that it can be no message bus.ErrMalformed.
func (d *Desk) Send(ctx context.Context, r Request) (*Exchange, error) {
	in := bus.Inbound{ID: r.ID, Name: r.Name, Text: r.Text, Media: r.Media, History: r.History, Tools: r.Tools, Answers: r.Answers, Meta: r.Meta}
	if in.ID == "" {
		in.ID = nuid.Next()
	}
	e := d.listen(r.Place(), in.ID)
	e.ids = append(e.ids, r.Also...)
	dup, err := d.publish(ctx, r.Place(), in)
	if err == nil && r.ID != "" && (dup || !r.First) {
		err = e.recall(ctx, dup)
	}
	if err != nil {
		e.Close()
		if errors.Is(err, bus.ErrMalformed) {
			d.LeaveFiles(ctx, r.files())
		}
		return nil, err
	}
	e.Repeated = dup
	return e, nil
}

// Join listens for what comes, and has come, of a message that was sent before.
func (d *Desk) Join(ctx context.Context, p Place, id string) (*Exchange, error) {
	e := d.listen(p, id)
	e.Repeated = true
	if err := e.recall(ctx, true); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// publish stores a message, and reports whether NATS had it already.
func (d *Desk) publish(ctx context.Context, p Place, in bus.Inbound) (dup bool, err error) {
	msg, err := p.message(d.door, in)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	select {
	case <-d.ready:
	case <-ctx.Done():
		return false, ErrAway
	}
	ack, err := d.client.JetStream().PublishMsg(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return false, fmt.Errorf("%w: %d bytes are more than NATS takes", bus.ErrMalformed, len(msg.Data))
	case errors.Is(err, nats.ErrReconnectBufExceeded): // which says nothing to who reads it
		return false, ErrAway
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return ack.Duplicate, nil
}

func (d *Desk) listen(p Place, id string) *Exchange {
	e := &Exchange{ID: id, ids: []string{id}, desk: d, place: p, more: make(chan struct{}, 1)}
	session := p.Agent + "/" + d.Key(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[session] == nil {
		d.open[session] = map[*Exchange]bool{}
	}
	d.open[session][e] = true
	return e
}

// Close ends the listening. The run goes on.
func (e *Exchange) Close() {
	d, session := e.desk, e.place.Agent+"/"+e.Session()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open[session], e)
	if len(d.open[session]) == 0 {
		delete(d.open, session)
	}
	if len(d.open) == 0 && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
}

// Session is the key of the session.
func (e *Exchange) Session() string { return e.desk.Key(e.place) }

// Place is where the message went.
func (e *Exchange) Place() Place { return e.place }

// Answer settles an approval or a question of the session, as the person who has
// asked.
func (e *Exchange) Answer(ctx context.Context, call, text string) error {
	return e.AnswerAs(ctx, nuid.Next(), call, text)
}

// AnswerAs is Answer by a message of that id. Sent again it counts once, and is refused
// again.
func (e *Exchange) AnswerAs(ctx context.Context, id, call, text string) error {
	e.mu.Lock()
	if e.answers == nil {
		e.answers = map[string]bool{}
	}
	e.answers[id] = true
	e.mu.Unlock()
	dup, err := e.desk.publish(ctx, e.place, bus.Inbound{ID: id, Answers: call, Text: text})
	if end, ok := e.desk.EndOf(e.place, id); dup && ok {
		e.push(end)
	}
	return err
}

// hasAnswered reports whether the exchange gave an answer by a message of that id.
func (e *Exchange) hasAnswered(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answers[id]
}

// Stop orders the agent to end what it does in the session, for whichever message.
func (e *Exchange) Stop(ctx context.Context) error {
	_, err := e.desk.publish(ctx, e.place, bus.Inbound{Text: stopOrder})
	return err
}

func (e *Exchange) push(out bus.Outbound) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.withdrawal != "" && out.InReplyTo == e.withdrawal {
		close(e.refused)
		e.withdrawal = "" // it is answered once
		return
	}
	e.queue = append(e.queue, out)
	select {
	case e.more <- struct{}{}:
	default:
	}
}

func (e *Exchange) noteTaken(taken bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken = e.taken || taken
}

func (e *Exchange) take() []bus.Outbound {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.queue
	e.queue = nil
	return list
}

// isEnd reports whether a reply ends the exchange.
func (e *Exchange) isEnd(out *bus.Outbound) bool {
	return out.Final && e.isFor(out)
}

func (e *Exchange) isFor(out *bus.Outbound) bool {
	return slices.ContainsFunc(e.ids, func(id string) bool { return out.InReplyTo == id || slices.Contains(out.Merged, id) })
}

// event is what an agent says, if it is for the exchange.
func (e *Exchange) event(out *bus.Outbound) (ev Event, ok bool) {
	switch {
	case !out.Final || e.isFor(out):
		return Event{Out: out}, true
	case e.hasAnswered(out.InReplyTo):
		return Event{Refused: out}, true
	}
	return Event{}, false
}

// Events yields what comes of the message, the last being its final reply, until ctx
// ends, which is an error. What was said more than once is yielded once.
func (e *Exchange) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := e.follow()
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer f.stop()
		said := map[string]bool{}
		idle := time.NewTimer(idleAfter)
		defer idle.Stop()
		for {
			select {
			case <-e.more:
				for _, out := range e.take() {
					ev, ok := e.event(&out)
					if !ok || ev.Out != nil && said[out.ID] {
						continue
					}
					said[out.ID] = true
					e.noteTaken(e.isFor(&out))
					if !yield(ev, nil) || e.isEnd(&out) {
						return
					}
				}
			case msg := <-f.received:
				for _, chunk := range f.Take(msg) {
					if chunk.InReplyTo != "" && !slices.Contains(e.ids, chunk.InReplyTo) {
						continue
					}
					e.noteTaken(chunk.InReplyTo != "")
					if !yield(Event{Chunk: &chunk}, nil) {
						return
					}
					if chunk.Text != "" { // doors pass nothing else on, or not all of them
						idle.Reset(idleAfter)
					}
				}
			case <-f.again:
				_ = f.Ask() // the connection may be away again already
			case <-idle.C:
				if !yield(Event{}, nil) {
					return
				}
				idle.Reset(idleAfter)
			case <-ctx.Done():
				yield(Event{}, ctx.Err())
				return
			}
		}
	}
}

// Final waits for the final reply.
func (e *Exchange) Final(ctx context.Context) (bus.Outbound, error) {
	for ev, err := range e.Events(ctx) {
		if err != nil {
			return bus.Outbound{}, err
		}
		if ev.Out != nil && e.isEnd(ev.Out) {
			return *ev.Out, nil
		}
	}
	return bus.Outbound{}, ctx.Err()
}

// A following is the stream of a session.
type following struct {
	*client.Follower
	received chan *nats.Msg
	again    chan nats.Status
	stop     func()
}

func (e *Exchange) follow() (*following, error) {
	nc := e.desk.client.NATS()
	f := &following{
		Follower: client.NewFollower(nc, e.place.Agent, e.Session()),
		received: make(chan *nats.Msg, mostChunks), again: nc.StatusChanged(nats.CONNECTED),
	}
	var subs []*nats.Subscription
	f.stop = func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // the connection may be gone
		}
		nc.RemoveStatusListener(f.again)
	}
	for _, subject := range f.Subjects() {
		sub, err := nc.ChanSubscribe(subject, f.received)
		if err != nil {
			f.stop()
			return nil, fmt.Errorf("%w: follow %s: %w", ErrAway, e.place.Agent, err)
		}
		subs = append(subs, sub)
	}
	_ = f.Ask() // while the connection is away; it is asked again once it is back
	return f, nil
}
