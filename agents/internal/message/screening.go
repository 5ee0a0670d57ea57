package message

import (
	"encoding/json"
	"errors"
	"strings"

	"agenthost/bus"
	"agenthost/run"
)

// A Screening is what the before_message hooks have made of an input. Of one
// that they override only the content changes: who sent it, where it is answered
// and what it answers stay as they came.
type Screening struct {
	Origin   Origin
	Envelope json.RawMessage
	Refused  string // why a hook refuses it; the reason stands in place of the content
	Hooks    []run.HookAct
}

// Use puts what the hooks have left of the input in its place. It is for the
// goroutine that the input belongs to.
func (it *Item) Use(s *Screening) {
	if s != nil {
		it.Origin, it.Input.Envelope, it.Input.Hooks = s.Origin, s.Envelope, s.Hooks
	}
}

// HeldBackText stands in place of a message that a hook refuses.
func HeldBackText(reason string) string { return "[a message was held back: " + reason + "]" }

// HeldBack is what is kept of an input that a hook refuses.
func (o Origin) HeldBack(reason string) *Screening {
	s := &Screening{Origin: o, Refused: reason}
	if o.Route != nil {
		s.setRoute(bus.Route{Text: HeldBackText(reason)})
		return s
	}
	kept := addressOf(o.Inbound)
	kept.Text = HeldBackText(reason)
	s.Origin.Inbound = &kept
	s.Envelope, _ = json.Marshal(kept) // of strings: it always marshals
	return s
}

// ErrEmptied is the error when a hook removes the whole content of a message.
var ErrEmptied = errors.New("it leaves neither text nor media")

// Overridden is o with the content of the message that a hook has put in its place.
func (o Origin) Overridden(message json.RawMessage) (*Screening, error) {
	changed, err := o.changed(message)
	switch {
	case err == nil || errors.Is(err, bus.ErrNoContent):
		if changed.blank() && !o.blank() {
			return nil, ErrEmptied
		}
	default:
		return nil, err
	}
	s := &Screening{Origin: o}
	if o.Route != nil {
		s.setRoute(*changed.Route)
		return s, nil
	}
	address, err := json.Marshal(addressOf(o.Inbound))
	if err != nil {
		return nil, err
	}
	if s.Envelope, err = readdressed(message, address); err != nil {
		return nil, err
	}
	in, err := bus.DecodeInbound(s.Envelope)
	s.Origin.Inbound = &in
	return s, err
}

// blank reports whether it says nothing, as what withdraws another message, which need not.
func (o Origin) blank() bool {
	if o.Route != nil {
		return strings.TrimSpace(o.Route.Text) == "" && len(o.Route.Media) == 0
	}
	return o.Inbound.Withdraws != "" || strings.TrimSpace(o.Inbound.Text) == "" && len(o.Inbound.Media) == 0
}

// setRoute gives a route the content of another.
func (s *Screening) setRoute(content bus.Route) {
	route := *s.Origin.Route
	route.Text, route.Context, route.Media = content.Text, content.Context, content.Media
	s.Origin.Route = &route
	s.Envelope, _ = json.Marshal(route) // it was read from JSON
}

// addressOf is an inbound message without its content.
func addressOf(in *bus.Inbound) bus.Inbound {
	return bus.Inbound{
		ID: in.ID, From: in.From, Chat: in.Chat, Group: in.Group, Thread: in.Thread,
		Priority: in.Priority, Agent: in.Agent, Conversation: in.Conversation, Answers: in.Answers, ReplyTo: in.ReplyTo, SentAt: in.SentAt,
		Edits: in.Edits, Withdraws: in.Withdraws,
	}
}

var addressFields = []string{"id", "from", "chat", "group", "thread", "conversation", "priority", "agent", "answers", "reply_to", "sent_at", "edits", "withdraws"}

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

// changed is o with the message that a hook has put in its place.
func (o Origin) changed(message json.RawMessage) (Origin, error) {
	if !bus.IsObject(message) { // any other is plain text when it comes from a channel
		return o, errors.New("want an object: the whole envelope")
	}
	if o.Route == nil {
		in, err := bus.DecodeInbound(message)
		o.Inbound = &in
		return o, err
	}
	whole, err := overlaid(o.Route, message)
	if err != nil {
		return o, err
	}
	route, err := bus.DecodeRoute(whole)
	o.Route = &route
	return o, err
}

// overlaid is a route with the fields that a hook names in place of its own.
func overlaid(route *bus.Route, fields json.RawMessage) (json.RawMessage, error) {
	data, err := json.Marshal(route)
	if err != nil {
		return nil, err
	}
	changed := bus.Route{} // shares nothing with the route, which others read
	if err := errors.Join(json.Unmarshal(data, &changed), json.Unmarshal(fields, &changed)); err != nil {
		return nil, err
	}
	return json.Marshal(changed)
}
