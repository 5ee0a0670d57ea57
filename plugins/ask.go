package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// What Ask waits for comes live. It looks into the streams besides: soon, for a message
// that was answered before, and then from time to time, for what was said while the
// connection was away.
const (
	lookSoon  = 250 * time.Millisecond
	lookAgain = 5 * time.Second
)

// clocksWithin is how far the clocks of NATS and of the host that made a reply may be apart.
const clocksWithin = 24 * time.Hour

// Ask takes a message and waits for its final reply. One that was answered before gets
// that reply, however long ago it was: unless that is a day before Received.Since. Then the
// id was that of another message, and it is ErrIDUsed. An error that wraps ErrNoReply comes
// after the message is taken, any other but ErrIDUsed before.
func (in *Inbox) Ask(ctx context.Context, m Received) (bus.Outbound, error) {
	q, err := in.question(m)
	if err != nil {
		return bus.Outbound{}, err
	}
	sub, err := in.courier.parts.NC.SubscribeSync(in.courier.account.outbound())
	if err != nil {
		return bus.Outbound{}, fmt.Errorf("wait for the reply: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := q.begin(ctx); err != nil {
		return bus.Outbound{}, err
	}
	if err := in.Take(ctx, m); err != nil {
		return bus.Outbound{}, err
	}
	for wait := lookSoon; ; wait = lookAgain {
		out, err := q.listen(ctx, sub, wait)
		if errors.Is(err, errNothingYet) {
			var found bool
			if out, found = q.look(ctx); !found {
				continue
			}
			err = nil
		}
		if err == nil && out.SentAt.Before(m.Since.Add(-clocksWithin)) && !out.SentAt.IsZero() {
			return bus.Outbound{}, ErrIDUsed
		}
		if err != nil {
			return bus.Outbound{}, fmt.Errorf("%w: %w", ErrNoReply, err)
		}
		return out, nil
	}
}

// A question is a message whose reply is waited for.
type question struct {
	courier *Courier
	id      string
	own     session.Key // of its chat
	joined  session.Key // of the session that it is for
	next    uint64      // the first message of AGENT_OUTBOUND that was not looked at
}

func (in *Inbox) question(m Received) (*question, error) {
	env := bus.Inbound{ID: m.ID, From: m.From, Chat: m.Chat, Group: m.Group, Thread: m.Thread}
	if m.Raw != nil {
		var err error
		if env, err = bus.DecodeInbound(m.Raw); err != nil {
			return nil, err
		}
		env.ID = orElse(env.ID, m.ID)
	}
	if env.ID == "" {
		return nil, fmt.Errorf("%w: it has no id", ErrMalformed)
	}
	c := in.courier
	key := session.DMConversation(c.account.Channel, c.account.Instance, orElse(env.From, "anonymous"), env.Conversation)
	if env.Group {
		key = session.Group(c.account.Channel, c.account.Instance, env.Chat, env.Thread)
	}
	q := &question{courier: c, id: env.ID, own: key, joined: key}
	if c.parts.Session != nil {
		q.joined = c.parts.Session(key)
	}
	return q, nil
}

// begin notes where AGENT_OUTBOUND ends now.
func (q *question) begin(ctx context.Context) error {
	last, err := q.courier.parts.Reader.Last(ctx, bus.OutboundStream, q.courier.account.outbound())
	if err != nil && !errors.Is(err, records.ErrNotFound) {
		return fmt.Errorf("wait for the reply: %w", err)
	}
	q.next = last.Seq + 1
	return nil
}

var errNothingYet = errors.New("no reply yet")

// listen waits for the reply, or for a while: then it is errNothingYet.
func (q *question) listen(ctx context.Context, sub *nats.Subscription, within time.Duration) (bus.Outbound, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, within, errNothingYet)
	defer cancel()
	for {
		msg, err := sub.NextMsgWithContext(waiting)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer): // what was dropped may have been the reply
			continue
		case err != nil && ctx.Err() == nil && waiting.Err() != nil:
			return bus.Outbound{}, errNothingYet
		case err != nil:
			return bus.Outbound{}, err
		}
		if out, err := readOutbound(msg.Data); err == nil && q.isAnswered(&out) {
			return out, nil
		}
	}
}

// isAnswered reports whether out is the last word on the question. Its id is unique in its
// session alone: what another person was told may be in reply to the same. Hosts name the session
// in all that they say.
func (q *question) isAnswered(out *bus.Outbound) bool {
	if key := session.Key(out.Session); key != "" && key != q.own && key != q.joined {
		return false
	}
	return out.Final && (out.InReplyTo == q.id || slices.Contains(out.Merged, q.id))
}

// look looks for the reply in what was published since the question, and in the logs of
// the session. What cannot be read now is read the next time.
func (q *question) look(ctx context.Context) (bus.Outbound, bool) {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	parts := q.courier.parts
	for rec, err := range parts.Reader.Tail(ctx, bus.OutboundStream, q.courier.account.outbound(), q.next) {
		if err != nil {
			break
		}
		q.next = rec.Seq + 1
		if out, err := readOutbound(rec.Data); err == nil && q.isAnswered(&out) {
			return out, true
		}
	}
	archive := session.NewArchive(parts.JS)
	for _, agent := range parts.Agents() {
		replies, err := archive.Answered(ctx, agent, q.own, q.joined, q.id)
		if err != nil {
			q.courier.few.Warn().Err(err).Str("agent", agent).Msg("look for an earlier reply")
		}
		for _, reply := range replies {
			out := bus.Outbound{}
			if json.Unmarshal(reply.Envelope, &out) == nil && q.isAnswered(&out) && reply.Subject == q.courier.account.outbound() {
				return out, true
			}
		}
	}
	return bus.Outbound{}, false
}
