package agents

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// An outgoing is what one commit publishes. end is called once, when all of it
// is stored or when the host stops before that; it must not block.
type outgoing struct {
	replies []*run.Reply
	trace   trace
	end     func(stored bool)
}

// A trace is the trace context of an input, carried through to its replies.
type trace struct{ parent, state string }

// send publishes after everything that was sent before it is stored, so that
// the replies of a conversation keep their order whatever has to be resent.
func (c *conversation) send(out *outgoing) {
	c.mu.Lock()
	c.out = append(c.out, out)
	if c.sending {
		c.mu.Unlock()
		return
	}
	c.sending = true
	c.mu.Unlock()
	c.pump()
}

// pump publishes the oldest reply that is not stored yet.
func (c *conversation) pump() {
	for {
		c.mu.Lock()
		if len(c.out) == 0 {
			c.sending = false
			c.mu.Unlock()
			c.rest()
			return
		}
		out := c.out[0]
		if len(out.replies) == 0 {
			c.out[0] = nil
			c.out = c.out[1:]
			c.mu.Unlock()
			out.end(true)
			continue
		}
		reply := out.replies[0]
		out.replies = out.replies[1:]
		c.mu.Unlock()
		if bus.StoredSubject(reply.Subject) {
			c.publish(reply, out.trace, nil)
			return // pump goes on when it is stored
		}
		c.publish(reply, out.trace, func(bool) {})
	}
}

// pumped goes on with the next reply once one is stored.
func (c *conversation) pumped(stored bool) {
	if stored {
		c.pump()
	} else {
		c.abandonOutbox()
	}
}

// publish sends a reply. done, or else pumped, is called once it is stored, or when
// the host stops before that; for what is kept in no stream at once.
func (c *conversation) publish(reply *run.Reply, t trace, done func(stored bool)) {
	if reply.Subject == "" {
		done(true)
		return
	}
	if !bus.ReplySubject(reply.Subject) { // a log of version 0.1 may have it
		c.log().Warn().Str("subject", reply.Subject).Str("id", reply.ID).Msg("drop reply: its subject is not one for others to name")
		done(true)
		return
	}
	msg := &nats.Msg{
		Subject: reply.Subject, Data: reply.Envelope,
		Header: bus.Header("Content-Type", "application/json", bus.SessionKeyHeader, string(c.key), nats.MsgIdHdr, reply.ID),
	}
	t.set(msg.Header)
	if !bus.StoredSubject(reply.Subject) {
		delete(msg.Header, nats.MsgIdHdr)
		if err := c.r.parts.NC.PublishMsg(msg); err != nil {
			c.log().Warn().Err(err).Str("subject", reply.Subject).Msg("publish result")
		}
		done(true)
		return
	}
	crashpoint("before-publish")
	c.r.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		crashpoint("after-publish")
		stored := !errors.Is(err, publishing.ErrClosed) && !errors.Is(err, nats.ErrConnectionClosed)
		if stored && err != nil {
			c.r.parts.buryLetter(c.r.undeliverable(reply, msg.Header, err), func() {})
		}
		if done == nil {
			c.pumped(stored)
		} else {
			done(stored)
		}
	})
}

// abandonOutbox gives up what is not stored. The log has it, and whoever opens
// it next sends it.
func (c *conversation) abandonOutbox() {
	c.mu.Lock()
	out := c.out
	c.out, c.sending = nil, false
	c.mu.Unlock()
	for _, o := range out {
		o.end(false)
	}
	c.rest()
}

// traceOf is the trace of what answers inputs: that of the last.
func traceOf(inputs []run.Input) trace {
	if len(inputs) == 0 {
		return trace{}
	}
	last := &inputs[len(inputs)-1]
	return trace{last.Trace, last.State}
}

var wellFormed = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?$`)

// outward is the trace for others than channels and agents. One that is no trace
// context stays here: no server may refuse a call for it.
func (t trace) outward() trace {
	if t.parent == "" || len(t.parent) > 512 || !wellFormed.MatchString(t.parent) {
		return trace{}
	}
	if len(t.state) > 512 || strings.ContainsFunc(t.state, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.state = ""
	}
	return t
}

func (t trace) set(h nats.Header) {
	if t.parent != "" {
		h["traceparent"] = []string{t.parent}
	}
	if t.state != "" {
		h["tracestate"] = []string{t.state}
	}
}

// undeliverable is the dead letter of a reply that the bus refuses for good.
func (r *Runtime) undeliverable(reply *run.Reply, header nats.Header, err error) bus.DeadLetter {
	letter := bus.DeadLetter{
		ID: "dead:" + reply.ID, Agent: r.id, Reason: "reply cannot be published: " + err.Error(), Code: "internal",
		Subject: reply.Subject, Stream: bus.OutboundStream, Host: r.parts.Host, At: time.Now().UTC(), Header: header,
	}
	letter.SetPayload(reply.Envelope, r.parts.room())
	return letter
}
