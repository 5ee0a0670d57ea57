package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A target answers messages.
type target struct {
	what     string
	nc       *nats.Conn
	js       jetstream.JetStream
	subject  func(agent int) string
	replies  string // the subject of all its replies
	stream   string // that keeps them
	agents   int
	children []*process // none for a target that was running before
}

// A load is a stream of messages for a target, and what comes back.
type load struct {
	opt     Options
	to      target
	text    string
	acks    string        // where the stream acknowledges
	slots   chan struct{} // one for each message that may be unanswered
	refused atomic.Int64
}

var errAway = errors.New("NATS is away")

// drive sends what opt says and returns what came of it.
func drive(ctx context.Context, opt Options, to target) (Side, error) {
	l := &load{
		opt: opt, to: to, text: strings.Repeat("x", max(opt.Size-8, 0)),
		acks: to.nc.NewInbox(), slots: make(chan struct{}, opt.Concurrency),
	}
	warm := opt
	warm.Messages, warm.Duration, warm.Rate = opt.Sessions, 0, 0
	l.opt = warm
	if _, err := l.round(ctx, func(Progress) {}); err != nil { // every session is met once before it counts
		return Side{}, fmt.Errorf("warm up %s: %w", to.what, err)
	}
	l.opt = opt
	return l.round(ctx, opt.Progress)
}

// round sends messages and waits for their replies.
func (l *load) round(ctx context.Context, tell func(Progress)) (Side, error) {
	l.refused.Store(0)
	for len(l.slots) > 0 {
		<-l.slots
	}
	v := newVerifier("b"+nuid.Next(), l.opt.Sessions, l.release)
	kept, err := l.kept(ctx)
	if err != nil {
		return Side{}, err
	}
	stop, err := l.listen(v)
	if err != nil {
		return Side{}, err
	}
	defer stop()
	u, start := newGauge(l.to.children), time.Now()
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		l.watch(ended, v, start, u, tell)
	}()
	n, err := l.send(ctx, v, start)
	v.expect(n)
	if err == nil {
		err = l.await(ctx, v)
	}
	close(ended)
	<-watched
	if err != nil {
		return Side{}, err
	}
	answered, end := v.progress()
	usage, each := u.read()
	after, err := l.settled(ctx, kept+answered)
	if err != nil {
		return Side{}, err
	}
	side := v.side(n, int(l.refused.Load()), after-kept, end.Sub(start), usage)
	if len(each) > 1 {
		side.Hosts = hostFigures(each, l.to.lanes(ctx))
	}
	return side, nil
}

func (l *load) release() {
	select {
	case <-l.slots:
	default: // with a rate nothing is bounded
	}
}

// listen takes replies, and the acknowledgements of the stream.
func (l *load) listen(v *verifier) (stop func(), err error) {
	acks, err := l.to.nc.Subscribe(l.acks, func(m *nats.Msg) {
		if bytes.Contains(m.Data, []byte(`"error"`)) {
			l.refused.Add(1)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for acknowledgements: %w", err)
	}
	replies, err := l.to.nc.Subscribe(l.to.replies, func(m *nats.Msg) { v.take(m.Data, time.Now()) })
	if err != nil {
		_ = acks.Unsubscribe()
		return nil, fmt.Errorf("listen on %s: %w", l.to.replies, err)
	}
	for _, s := range []*nats.Subscription{acks, replies} {
		_ = s.SetPendingLimits(-1, -1) // what comes late is late, not lost
	}
	return func() { _, _ = acks.Unsubscribe(), replies.Unsubscribe() }, l.to.nc.Flush()
}

// send sends until there is enough, and returns how many it were.
func (l *load) send(ctx context.Context, v *verifier, start time.Time) (int, error) {
	enough := func(i int) bool { return i == l.opt.Messages }
	if l.opt.Duration > 0 {
		end := start.Add(l.opt.Duration)
		enough = func(int) bool { return !time.Now().Before(end) }
	}
	for i := 0; ; i++ {
		if enough(i) {
			return i, l.to.nc.Flush()
		}
		due, err := l.turn(ctx, v, start, i)
		if err != nil {
			return i, err
		}
		if err := l.publish(v, i, due); err != nil {
			return i, fmt.Errorf("publish message %d: %w", i, err)
		}
	}
}

// turn waits until message i may go, and returns when it should have: a host
// that is slow must not slow down what it is measured by.
func (l *load) turn(ctx context.Context, v *verifier, start time.Time, i int) (time.Time, error) {
	if l.opt.Rate > 0 {
		due := start.Add(time.Duration(float64(i) / l.opt.Rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		return due, ctx.Err()
	}
	select {
	case l.slots <- struct{}{}:
		return time.Now(), nil
	default:
	}
	stuck := time.NewTicker(l.opt.Quiet)
	defer stuck.Stop()
	for {
		select {
		case l.slots <- struct{}{}:
			return time.Now(), nil
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-stuck.C:
			if n, moved := v.progress(); time.Since(moved) > l.opt.Quiet {
				return time.Time{}, l.noAnswer(n)
			}
		}
	}
}

func (l *load) noAnswer(answered int) error {
	return fmt.Errorf("no reply on %s for %s, after %d; does an agent take %s?", l.to.replies, l.opt.Quiet, answered, l.to.subject(0))
}

func (l *load) publish(v *verifier, i int, due time.Time) error {
	session := i % l.opt.Sessions
	in := bus.Inbound{ID: v.id(i, due), From: fmt.Sprint("u", session), Text: fmt.Sprintf("%07d %s", i, l.text)}
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	msg := nats.NewMsg(l.to.subject(session % l.to.agents))
	msg.Reply, msg.Data = l.acks, data
	msg.Header.Set(jetstream.MsgIDHeader, in.ID)
	return l.to.nc.PublishMsg(msg)
}

// await waits for what is not answered, for as long as replies come.
func (l *load) await(ctx context.Context, v *verifier) error {
	tick := time.NewTicker(l.opt.Quiet / 10)
	defer tick.Stop()
	for {
		select {
		case <-v.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			n, moved := v.progress()
			switch {
			case !l.to.nc.IsConnected():
				return errAway
			case n == 0 && time.Since(moved) > l.opt.Quiet:
				return l.noAnswer(n)
			case time.Since(moved) > l.opt.Quiet:
				return nil // the rest is lost
			}
		}
	}
}

// watch tells how far the round is until it ends, and looks at the memory of
// what is measured.
func (l *load) watch(ended <-chan struct{}, v *verifier, start time.Time, u *gauge, tell func(Progress)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, _ := v.progress()
		part := float64(n) / float64(max(l.opt.Messages, 1))
		if l.opt.Duration > 0 {
			part = float64(time.Since(start)) / float64(l.opt.Duration)
		}
		part = min(part, 1)
		u.look(part)
		tell(Progress{What: l.to.what, Part: part, Done: n})
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// settled is how many replies the stream of the target has, once it has what
// was seen: a reply passes by before it is written.
func (l *load) settled(ctx context.Context, seen int) (int, error) {
	late := time.NewTimer(l.opt.Quiet)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		n, err := l.kept(ctx)
		if err != nil || n >= seen {
			return n, err
		}
		select {
		case <-again.C:
		case <-late.C:
			return n, nil
		}
	}
}

// kept is how many replies the stream of the target has.
func (l *load) kept(ctx context.Context) (int, error) {
	stream, err := l.to.js.Stream(ctx, l.to.stream)
	if err != nil {
		return 0, fmt.Errorf("look up stream %s: %w", l.to.stream, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(l.to.replies))
	if err != nil {
		return 0, fmt.Errorf("count the replies in %s: %w", l.to.stream, err)
	}
	n := uint64(0)
	for _, count := range info.State.Subjects {
		n += count
	}
	return int(n), nil
}
