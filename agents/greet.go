package agents

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// greet lets the before_message hooks see the run's inputs, and makes one
// message for the model of what they leave. refused is the signal that ends
// the run before it begins.
func (t *runner) greet(ctx context.Context) (msg llm.Message, refused *run.Signal) {
	messages := make([]llm.Message, len(t.items))
	for i, it := range t.items {
		o := it.origin
		if t.c.r.parts.Hooks.Has(hooks.BeforeMessage) {
			out := t.c.r.parts.Hooks.Fire(ctx, hooks.Call{
				Hook: hooks.BeforeMessage, Agent: t.c.r.cfg.ID, Session: string(t.c.key), Run: t.id,
				Args: hooks.Args{"message": it.input.Envelope},
			})
			switch out.Action {
			case hooks.Abort:
				refused = t.refusal(out.Reason)
			case hooks.Override:
				o = t.overridden(o, out.Args["message"])
			}
		}
		if o.inbound != nil && o.inbound.Answers != "" && refused == nil {
			refused = &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.id, Error: nothingAsked}
		}
		messages[i] = o.message()
	}
	return merge(messages), refused
}

// refusal is the signal of a hook that aborts.
func (t *runner) refusal(reason string) *run.Signal {
	return &run.Signal{Kind: run.Abort, At: time.Now(), Run: t.id, Reason: reason, By: "hook"}
}

// overridden is o with the message that a hook has put in its place; one that
// cannot be read changes nothing.
func (t *runner) overridden(o origin, message json.RawMessage) origin {
	var err error
	if o.route != nil {
		changed := *o.route
		if err = json.Unmarshal(message, &changed); err == nil {
			o.route = &changed
		}
	} else {
		changed := bus.Inbound{}
		if changed, err = bus.DecodeInbound(message); err == nil {
			o.inbound = &changed
		}
	}
	if err != nil {
		t.c.log().Warn().Err(err).Msg("a hook's message cannot be read; the message stays as it was")
	}
	return o
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
