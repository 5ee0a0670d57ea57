package agents

import (
	"context"
	"encoding/json"
	"strings"

	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// The before_message hooks see an input before anything of it is stored, so that
// what they take out of it is in no log, no answer that is passed on and no
// dead letter. Only AGENT_INBOUND, or the stream that brought it, has the original.

// A screening is what the before_message hooks have made of an input. Of one
// that they override only the content changes: who sent it, where it is answered
// and what it answers stay as they came.
type screening struct {
	origin   origin
	envelope json.RawMessage
	refused  string // why a hook refuses it; the reason stands in place of the content
}

// screen fires the before_message hooks for an input, once. It returns nil when
// there are none.
func (c *conversation) screen(ctx context.Context, it *item, runID string) *screening {
	if s := it.screened.Load(); s != nil {
		return s
	}
	if it.input.Checked || !c.hooked(hooks.BeforeMessage) {
		return nil
	}
	it.screened.CompareAndSwap(nil, c.fireBeforeMessage(ctx, it, runID))
	return it.screened.Load()
}

// hooked reports whether a point has a handler for this session.
func (c *conversation) hooked(point string) bool {
	return c.r.parts.Hooks.HasFor(point, c.r.id, string(c.key))
}

func (c *conversation) fireBeforeMessage(ctx context.Context, it *item, runID string) *screening {
	o := it.origin
	check := func(value json.RawMessage) error {
		_, err := o.overridden(value)
		return err
	}
	trace := tracing.Of([]run.Input{it.input}).Outward()
	out := c.r.parts.Hooks.Fire(ctx, hooks.Call{
		Hook: hooks.BeforeMessage, Agent: c.r.id, Session: string(c.key), Run: runID,
		TraceParent: trace.Parent, TraceState: trace.State,
		Args: hooks.Args{"message": it.input.Envelope}, Changeable: hooks.Changeable{"message": check},
	})
	switch out.Action {
	case hooks.Abort:
		return o.heldBack(out.Reason)
	case hooks.Override:
		s, err := o.overridden(out.Args["message"])
		if err != nil { // was checked: it does not happen
			return o.heldBack(c.book(it).Say("message_unchecked"))
		}
		return s
	}
	return &screening{origin: o, envelope: it.input.Envelope}
}

// use puts what the hooks have left of the input in its place. It is for the
// goroutine that the input belongs to.
func (it *item) use(s *screening) {
	if s != nil {
		it.origin, it.input.Envelope = s.origin, s.envelope
	}
}

// heldBackText stands in place of a message that a hook refuses.
func heldBackText(reason string) string { return "[a message was held back: " + reason + "]" }

// heldBack is what is kept of an input that a hook refuses.
func (o origin) heldBack(reason string) *screening {
	s := &screening{origin: o, refused: reason}
	if o.route != nil {
		s.setRoute(bus.Route{Text: heldBackText(reason)})
		return s
	}
	kept := addressOf(o.inbound)
	kept.Text = heldBackText(reason)
	s.origin.inbound = &kept
	s.envelope, _ = json.Marshal(kept) // of strings: it always marshals
	return s
}

// overridden is o with the content of the message that a hook has put in its place.
func (o origin) overridden(message json.RawMessage) (*screening, error) {
	changed, err := o.changed(message)
	if err != nil {
		return nil, err
	}
	s := &screening{origin: o}
	if o.route != nil {
		s.setRoute(*changed.route)
		return s, nil
	}
	address, err := json.Marshal(addressOf(o.inbound))
	if err != nil {
		return nil, err
	}
	if s.envelope, err = readdressed(message, address); err != nil {
		return nil, err
	}
	in, err := bus.DecodeInbound(s.envelope)
	s.origin.inbound = &in
	return s, err
}

// setRoute gives a route the content of another.
func (s *screening) setRoute(content bus.Route) {
	route := *s.origin.route
	route.Text, route.Context, route.Media = content.Text, content.Context, content.Media
	s.origin.route = &route
	s.envelope, _ = json.Marshal(route) // it was read from JSON
}

// addressOf is an inbound message without its content.
func addressOf(in *bus.Inbound) bus.Inbound {
	return bus.Inbound{
		ID: in.ID, From: in.From, Chat: in.Chat, Group: in.Group, Thread: in.Thread,
		Priority: in.Priority, Answers: in.Answers, ReplyTo: in.ReplyTo, SentAt: in.SentAt,
		Edits: in.Edits, Withdraws: in.Withdraws,
	}
}

var addressFields = []string{"id", "from", "chat", "group", "thread", "priority", "answers", "reply_to", "sent_at", "edits", "withdraws"}

// readdressed is an envelope with the fields of address in place of its own.
func readdressed(envelope, address json.RawMessage) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(envelope, &fields); err != nil {
		return nil, err
	}
	for _, name := range addressFields {
		delete(fields, name)
	}
	if err := json.Unmarshal(address, &fields); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// screenAll has the hooks see all inputs of the run that is to begin. It returns
// the reason why one of them is refused.
func (t *runner) screenAll(ctx context.Context) (refused string) {
	for i, it := range t.items {
		s := t.c.screen(ctx, it, t.id)
		if s == nil {
			continue
		}
		it.use(s)
		t.mu.Lock()
		t.inputs[i] = it.input
		t.mu.Unlock()
		refused = orElse(refused, s.refused)
	}
	return refused
}

// screenAnswer has the hooks see what a person says in their own words to the
// question of a run. It returns the reason why a hook refuses it.
func (c *conversation) screenAnswer(ctx context.Context, it *item, r *run.Run, sig *run.Signal) (refused string) {
	if sig.Kind != run.Answered || it.origin.inbound == nil || !inOwnWords(r, sig.Call) {
		return ""
	}
	s := c.screen(ctx, it, r.ID)
	if s == nil {
		return ""
	}
	it.use(s)
	sig.Answer = strings.TrimSpace(it.origin.inbound.Text)
	return s.refused
}

// inOwnWords reports whether a call waits for an answer that may be any text.
func inOwnWords(r *run.Run, call string) bool {
	for _, open := range r.Open() {
		if open.ID == call {
			return open.Asked == run.ForQuestion && len(open.Options) == 0
		}
	}
	return false
}

// refusedByHook tells a person why a hook refuses a message outside of any run.
func refusedByHook(reason string) *run.Error {
	return &run.Error{Code: llm.CodeCancelled, Message: reason}
}
