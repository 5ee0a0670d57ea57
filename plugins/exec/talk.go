package exec

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/plugins"

	"github.com/rs/zerolog"
)

const queued = 64 // lines on their way to the program, or messages from it

// Tests set these.
var (
	// A program that is stopped has until these to end by itself, and by TERM.
	termAfter = 5 * time.Second
	killAfter = 10 * time.Second
	// readWithin is how long a program may leave its input unread before what it has said is
	// taken without telling it so. It may be one that never reads.
	readWithin = 10 * time.Second
)

// takeFor is how long after the stop what the program wrote is still taken.
func takeFor() time.Duration { return killAfter + 2*time.Second }

var errGone = errors.New("the program ended before it had delivered the message")

// A talk is what is said between the host and one run of the program.
type talk struct {
	p      *process
	log    zerolog.Logger
	lines  chan []byte   // for the program
	deaf   chan struct{} // closed when it takes no more lines
	gone   chan struct{} // closed when all that it said was heard
	stream atomic.Bool   // it wants deltas
	unread atomic.Bool   // it does not read its input

	mu      sync.Mutex
	waiting map[string]chan error // for delivered or failed, by the id of the reply
}

func newTalk(p *process, log zerolog.Logger) *talk {
	return &talk{
		p: p, log: log, lines: make(chan []byte, queued), deaf: make(chan struct{}), gone: make(chan struct{}),
		waiting: map[string]chan error{},
	}
}

// run ends when the program has, and what it said was heard. The end of ctx stops it.
func (t *talk) run(ctx context.Context, in *plugins.Inbox) {
	taking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(takeFor(), cancel) })
	inbound := make(chan json.RawMessage, queued)
	var group sync.WaitGroup
	group.Go(func() { t.write(ctx) })
	group.Go(func() { t.stop(ctx) })
	group.Go(func() {
		for m := range inbound {
			t.take(taking, in, m)
		}
	})
	for text, err := t.p.readLine(); err == nil; text, err = t.p.readLine() {
		t.hear(text, inbound)
	}
	close(inbound)
	if !t.p.EndsWithin(termAfter) { // it has closed its output, and nothing can come any more
		t.p.Kill()
	}
	<-t.p.Done()
	group.Wait()
	close(t.gone)
	t.p.Close()
}

// write sends lines to the program until it or ctx ends; then the last is stop.
func (t *talk) write(ctx context.Context) {
	defer close(t.deaf)
	for {
		select {
		case data := <-t.lines:
			if _, err := t.p.In.Write(data); err != nil && ctx.Err() == nil {
				return // the program has closed its input, or ended
			}
			t.unread.Store(false)
		case <-t.p.Done():
			return
		case <-ctx.Done():
			_, _ = t.p.In.Write(encode(stopLine{"stop"})) // it may have ended
			_ = t.p.In.Close()
			return
		}
	}
}

// stop ends the program once ctx has ended.
func (t *talk) stop(ctx context.Context) {
	select {
	case <-t.p.Done():
		return
	case <-ctx.Done():
	}
	_ = t.p.In.SetWriteDeadline(time.Now().Add(termAfter / 5)) // it may not read
	t.p.Stop(termAfter, killAfter-termAfter)
}

// say sends a line, unless the program takes no more.
func (t *talk) say(v any) {
	select {
	case t.lines <- encode(v):
	case <-t.deaf:
	}
}

// answer says what has become of a message. A program that does not read its input gets no
// answer: to wait for it would keep all else that it says from being heard.
func (t *talk) answer(v any) {
	if t.unread.Load() {
		t.offer(v)
		return
	}
	timer := time.NewTimer(readWithin)
	defer timer.Stop()
	select {
	case t.lines <- encode(v):
	case <-t.deaf:
	case <-timer.C:
		t.unread.Store(true)
		t.log.Warn().Msg("the program does not read its input; until it does, it is not told that its messages are stored")
	}
}

// offer sends a line if there is room for it.
func (t *talk) offer(v any) {
	select {
	case t.lines <- encode(v):
	default:
	}
}

// hear takes a line of the program.
func (t *talk) hear(text []byte, inbound chan<- json.RawMessage) {
	var l line
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if json.Unmarshal(text, &l) != nil {
		l = line{}
	}
	switch l.Type {
	case "hello":
		t.stream.Store(l.Stream)
	case "inbound":
		inbound <- l.Message
	case "delivered":
		t.settle(l.ID, nil)
	case "failed":
		t.settle(l.ID, l.failure())
	default:
		t.log.Warn().Str("line", printable(text)).Msg("the program wrote a line that is no message of a channel program; it is skipped")
	}
}

// failure is why a reply was not delivered.
func (l line) failure() error {
	err := errors.New(cmp.Or(l.Error, "the program could not deliver it"))
	after, _ := time.ParseDuration(l.RetryAfter) // without one, it is tried again soon
	switch {
	case l.Permanent:
		return plugins.Permanent(err)
	case after > 0:
		return &plugins.RateLimitError{After: after, Err: err}
	}
	return err
}

// take stores a message and says so.
func (t *talk) take(ctx context.Context, in *plugins.Inbox, m json.RawMessage) {
	id := idOf(m)
	if !bytes.HasPrefix(m, []byte("{")) {
		t.answer(refusedLine{"refused", id, "message: want an inbound envelope, a JSON object"})
		return
	}
	switch err := in.Take(ctx, plugins.Received{Raw: m}); {
	case err == nil:
		t.answer(acceptedLine{"accepted", id})
	case errors.Is(err, plugins.ErrMalformed), errors.Is(err, plugins.ErrTooLarge):
		t.answer(refusedLine{"refused", id, err.Error()})
	default: // the host stops, and the program has to say it again
		t.log.Warn().Err(err).Str("id", id).Msg("a message of the program was not taken")
	}
}

// idOf is the id that a message is answered under: that of one whose id is a number too, though it is
// refused.
func idOf(m json.RawMessage) string {
	var named struct {
		ID any `json:"id"`
	}
	dec := json.NewDecoder(bytes.NewReader(m))
	dec.UseNumber()
	_ = dec.Decode(&named) // what is no object has no id
	switch id := named.ID.(type) {
	case string:
		return id
	case json.Number:
		return id.String()
	}
	return ""
}

// deliver sends a reply and waits for what becomes of it.
func (t *talk) deliver(ctx context.Context, id string, envelope json.RawMessage) error {
	result := t.expect(id)
	defer t.forget(id)
	select {
	case t.lines <- encode(outboundLine{"outbound", envelope}):
	case <-t.deaf:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.gone:
	}
	select {
	case err := <-result: // it said so before it ended
		return err
	default:
		return errGone
	}
}

func (t *talk) expect(id string) <-chan error {
	t.mu.Lock()
	defer t.mu.Unlock()
	result := make(chan error, 1)
	t.waiting[id] = result
	return result
}

func (t *talk) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, id)
}

func (t *talk) settle(id string, err error) {
	t.mu.Lock()
	result := t.waiting[id]
	delete(t.waiting, id)
	t.mu.Unlock()
	if result != nil {
		result <- err
	}
}

// encode makes a line. What it is made of can be encoded.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return b.Bytes()
}
