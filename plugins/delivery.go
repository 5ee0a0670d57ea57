package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/crash"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	retryFirst = time.Second
	retryMost  = time.Minute
	// tryFor is what a channel gets for a message also where the time for the reply ends
	// sooner: its own limits, which are shorter, say better what is wrong.
	tryFor = 10 * time.Minute
)

// errNoWord says that a channel has not said what has become of a message.
var errNoWord = errors.New("no word of whether it is delivered")

// longestLimit is how long a rate limit counts: platforms mistake units. Tests set it.
var longestLimit = 24 * time.Hour

// errTermEnds says that a reply stays for the next owner.
var errTermEnds = errors.New("the term ends")

// errGone says that NATS does not have the reply any more.
var errGone = errors.New("the reply is gone")

// A delivery is the work on one reply.
type delivery struct {
	o        *outbox
	c        *Courier
	ch       *chat
	it       *item
	out      bus.Outbound
	envelope []byte
	attempts int
}

func (o *outbox) delivery(ch *chat, it *item) (*delivery, error) {
	d := &delivery{o: o, c: o.c, ch: ch, it: it, envelope: it.envelope}
	for d.envelope == nil {
		rec, err := o.c.parts.Reader.Get(o.t.open, bus.OutboundStream, it.seq)
		if err == nil {
			d.envelope = rec.Data
			break
		}
		if o.t.open.Err() != nil {
			return d, errTermEnds
		}
		if isMissing(err) { // it has expired, or somebody has deleted it
			return d, errGone
		}
		o.c.few.Warn().Err(err).Msg("read reply again: failed; retrying")
		bus.Pause(o.t.open, retryFirst)
	}
	var err error
	if d.out, err = readOutbound(d.envelope); err != nil {
		return d, err
	}
	d.out.ID = cmp.Or(d.out.ID, it.header.Get(jetstream.MsgIDHeader), fmt.Sprintf("%s:%d", bus.OutboundStream, it.seq))
	return d, nil
}

// deliver sends what the platform has not taken yet. Any error but errTermEnds is
// for good.
func (d *delivery) deliver() error {
	list := d.c.pieces(&d.out)
	// A server that was killed may have forgotten acknowledgements of the last seconds. Also
	// platforms that take a Key once forget it, some within minutes.
	taken, err := d.noted(len(list))
	if err != nil {
		return err
	}
	taken = max(taken, d.c.taken.of(d.out.ID, len(list)))
	for i := taken; i < len(list); i++ {
		if err := d.send(d.message(list[i], i, len(list))); err != nil {
			return err
		}
		d.c.taken.set(d.out.ID, progress{i + 1, len(list)})
		if err := d.c.notes.setProgress(d.o.t.work, d.out.ID, i+1, len(list), d.c.replyLife()); err != nil && d.o.t.work.Err() != nil {
			return errTermEnds
		}
	}
	return nil
}

// noted is how many parts the platform has taken already, as the note says.
func (d *delivery) noted(parts int) (int, error) {
	for {
		n, err := d.c.notes.progress(d.o.t.open, d.out.ID, parts)
		if err == nil {
			return n, nil
		}
		if d.o.t.open.Err() != nil {
			return 0, errTermEnds
		}
		d.c.few.Warn().Err(err).Msg("read how far a reply is delivered: failed; retrying")
		bus.Pause(d.o.t.open, retryFirst)
	}
}

// send sends one message until the platform takes it, refuses it for good, or the
// time for the reply is over.
func (d *delivery) send(m Message) error {
	deadline := d.it.sentAt.Add(d.c.account.deliverFor())
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		turn, err := d.ready(deadline)
		if err != nil {
			return err
		}
		d.attempts++
		err = d.try(&m, deadline)
		d.o.t.letIn(turn, err)
		if err == nil {
			return nil
		}
		if d.o.t.work.Err() != nil {
			return errTermEnds
		}
		if permanent, ok := errors.AsType[*PermanentError](err); ok {
			return permanent
		}
		if d.o.t.open.Err() != nil { // a channel that drains ended before it had taken it
			return errTermEnds
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("not delivered within %s: %w", d.c.account.deliverFor(), err)
		}
		d.c.status.change(func(s *Status) { s.Retries++; s.LastError = err.Error() })
		if _, refused := errors.AsType[*LoginError](err); refused {
			continue // ready waits, and letIn has said so
		}
		d.c.few.Warn().Err(err).Str("reply", d.out.ID).Msg("deliver reply: failed; retrying")
		d.wait(err, pause, deadline)
	}
}

// wait waits as long as the platform says, else for pause, but not past the deadline.
func (d *delivery) wait(err error, pause time.Duration, deadline time.Time) {
	limit, limited := errors.AsType[*RateLimitError](err)
	if limited && limit.After > 0 {
		d.o.pause(d.ch, limit.Account, min(limit.After, longestLimit))
		return
	}
	d.o.pause(d.ch, limited && limit.Account, min(pause, max(time.Until(deadline), 0)))
}

// ready waits until the account is logged in, may write, and neither it nor the chat is paused.
// turn is true for the delivery that finds out whether it may.
func (d *delivery) ready(deadline time.Time) (turn bool, err error) {
	open := d.o.t.open
	d.o.waitPaused(open, d.ch)
	within, cancel := context.WithTimeout(open, max(time.Until(deadline), time.Minute))
	defer cancel()
	if open.Err() != nil {
		return false, errTermEnds
	}
	select {
	case <-d.o.t.gate.wait():
	case <-within.Done():
		err = fmt.Errorf("not connected: %s", d.c.Status().LastError)
	}
	if err == nil {
		turn, err = d.o.t.refusal.turn(within)
	}
	switch {
	case err == nil:
		return turn, nil
	case open.Err() != nil:
		return false, errTermEnds
	}
	return false, fmt.Errorf("not delivered within %s: %w", d.c.account.deliverFor(), err)
}

// try calls the channel once. A panic of it is an error.
func (d *delivery) try(m *Message, deadline time.Time) (err error) {
	defer recovered(d.c, "deliver", &err)
	if !d.c.channel.Limits().Drains { // else a program has it, which may take as long as it likes over one chat
		select {
		case d.o.slots <- struct{}{}:
			defer func() { <-d.o.slots }()
		case <-d.o.t.open.Done():
			return errTermEnds
		}
	}
	if err := d.load(d.o.t.work, m); err != nil {
		return err
	}
	d.ch.hurry()
	d.ch.calls.Lock()
	defer d.ch.calls.Unlock()
	shown := d.o.t.activities.previews
	if m.Part == 1 && replaces(&d.out) {
		m.Preview = shown.of(d.it.key, d.out.Agent, d.out.Run)
	}
	if !d.o.t.lease.wait(d.o.t.open) {
		return errTermEnds
	}
	crash.Point("before-deliver")
	within, cancel := context.WithTimeoutCause(d.o.t.work, max(time.Until(deadline), tryFor), errNoWord)
	defer cancel()
	_, err = d.c.channel.Deliver(within, *m)
	crash.Point("after-deliver")
	if err == nil && m.Preview != "" {
		shown.replaced(d.it.key, d.out.Agent, m.Preview)
	}
	return err
}

// agentID is how the id of an agent looks.
var agentID = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// bury stores the reply as a dead letter. It fails only when the term ends.
func (d *delivery) bury(reason error) error {
	agent := d.out.Agent
	if !agentID.MatchString(agent) {
		agent = "unknown"
	}
	header := maps.Clone(d.it.header)
	delete(header, pinHeader)
	letter := bus.DeadLetter{
		Agent: agent, Reason: reason.Error(), Code: codeUndeliverable, Subject: d.it.subject, Stream: bus.OutboundStream, Seq: d.it.seq,
		Attempts: d.attempts, Host: d.c.parts.Host, At: time.Now().UTC(), Header: header,
	}
	letter.SetPayload(d.envelope, int(d.c.parts.NC.MaxPayload())-headroom)
	d.c.log.Error().Err(reason).Str("reply", d.out.ID).Str("agent", agent).Msg("reply is undeliverable; it is a dead letter")
	err := d.store(letter)
	if bus.Permanent(err) { // the stream may take less than the server
		letter.Omit()
		err = d.store(letter)
	}
	if bus.Permanent(err) {
		d.c.log.Error().Err(err).Str("reply", d.out.ID).Str("subject", d.it.subject).Uint64("seq", d.it.seq).
			Msg("store dead letter: refused for good; the reply stays in its stream alone, and those behind it go on")
		return nil
	}
	if err != nil {
		return err
	}
	if d.c.parts.Buried != nil {
		d.c.parts.Buried(agent)
	}
	return nil
}

// codeUndeliverable is the code of such dead letters.
const codeUndeliverable = "undeliverable"

// headroom is what the headers of a message take at most.
const headroom = 4 << 10

// store publishes a dead letter, before the reply is acknowledged. It ends with the error of a
// server that will not take it, or with the term.
func (d *delivery) store(letter bus.DeadLetter) error {
	msg, err := letter.Message()
	if err != nil {
		return fmt.Errorf("encode dead letter: %w", err)
	}
	for {
		_, err := d.c.parts.Publisher.PublishWait(d.o.t.work, msg)
		if err == nil || d.o.t.work.Err() != nil || bus.Permanent(err) {
			return err
		}
		d.c.few.Error().Err(err).Msg("store dead letter: failed; retrying")
		bus.Pause(d.o.t.work, retryFirst)
	}
}

// isMissing reports whether what was to be read is not there any more.
func isMissing(err error) bool {
	return errors.Is(err, records.ErrNotFound) || errors.Is(err, jetstream.ErrObjectNotFound)
}
