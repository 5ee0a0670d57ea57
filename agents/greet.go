package agents

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// receive is what the model is told of the run's inputs. refused is the signal
// that ends the run before it begins.
func (t *runner) receive(ctx context.Context) (msg llm.Message, refused *run.Signal) {
	reason := t.screenAll(ctx)
	if t.c.r.isRetired() {
		return t.refuseRemoved()
	}
	if t.dropped() {
		return t.leaveOut()
	}
	msg, refused = t.greet(ctx)
	if reason != "" {
		refused = t.refusal(reason)
	}
	return msg, refused
}

// greet makes one message for the model of the run's inputs. refused is the
// signal that ends the run before it begins.
func (t *runner) greet(ctx context.Context) (msg llm.Message, refused *run.Signal) {
	messages := make([]llm.Message, 0, len(t.items))
	for i, it := range t.items {
		if it.changes() { // the message that it edits says it
			continue
		}
		o := it.origin
		if e := t.unfit(o); e != nil && refused == nil {
			refused = &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.id, Error: e}
		}
		if sig := t.command(ctx, o, it.input.ID); sig != nil && refused == nil {
			refused = sig
		}
		if sig := t.ordered(o); sig != nil && refused == nil {
			sig.At, sig.Run, refused = time.Now(), t.id, sig
		}
		if !t.superseded(i) {
			messages = append(messages, o.message())
		}
	}
	return t.summed(messages), refused
}

// unfit says why an input cannot begin a run; nil when it can.
func (t *runner) unfit(o origin) *run.Error {
	switch {
	case o.route != nil && o.route.Kind == bus.RouteDelegate:
		return t.c.r.refuseTask(o.route)
	case o.route != nil:
		return nil
	case o.inbound.Answers != "":
		return &run.Error{Code: llm.CodeValidation, Message: t.p.texts.Say("no_open_question")}
	case order(o.inbound) == stopWord && alone(o.inbound):
		return &run.Error{Code: llm.CodeValidation, Message: t.p.texts.Say("nothing_to_stop")}
	}
	return nil
}

// refusal is the signal of a hook that aborts.
func (t *runner) refusal(reason string) *run.Signal {
	return &run.Signal{Kind: run.Abort, At: time.Now(), Run: t.id, Reason: reason, By: "hook"}
}

// changed is o with the message that a hook has put in its place.
func (o origin) changed(message json.RawMessage) (origin, error) {
	if !bus.IsObject(message) { // any other is plain text when it comes from a channel
		return o, errors.New("want an object: the whole envelope")
	}
	if o.route == nil {
		in, err := bus.DecodeInbound(message)
		o.inbound = &in
		return o, err
	}
	whole, err := overlaid(o.route, message)
	if err != nil {
		return o, err
	}
	route, err := bus.DecodeRoute(whole)
	o.route = &route
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

// farewell tells the after_message hooks what was answered.
func (t *runner) farewell() {
	replies := make([]json.RawMessage, 0, len(t.replies))
	for _, r := range t.replies {
		replies = append(replies, r.Envelope)
	}
	all, err := json.Marshal(replies)
	if err != nil {
		t.c.log().Error().Err(err).Msg("encode replies for hooks")
		return
	}
	for _, in := range t.inputs {
		t.c.r.fire(hooks.AfterMessage, t.c.key, t.id, hooks.Args{"message": in.Envelope, "replies": all})
	}
}
