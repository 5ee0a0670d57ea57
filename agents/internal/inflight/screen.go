package inflight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/tracing"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// The before_message hooks see an input before anything of it is stored, so that
// what they take out of it is in no log, no answer that is passed on and no
// dead letter. Only AGENT_INBOUND, or the stream that brought it, has the original.

// Screen fires the before_message hooks for an input, once. It returns nil when
// there are none.
func (c Session) Screen(ctx context.Context, it *message.Item, runID string) *message.Screening {
	if s := it.Screened.Load(); s != nil {
		return s
	}
	if it.Input.Checked || !c.Hooked(hooks.BeforeMessage) {
		return nil
	}
	it.Screened.CompareAndSwap(nil, c.fireBeforeMessage(ctx, it, runID))
	return it.Screened.Load()
}

func (c Session) fireBeforeMessage(ctx context.Context, it *message.Item, runID string) *message.Screening {
	o := it.Origin
	check := func(value json.RawMessage) error {
		_, err := o.Overridden(value)
		if errors.Is(err, message.ErrEmptied) { // that ends the message, and its original is not used
			return nil
		}
		return err
	}
	trace := tracing.Of([]run.Input{it.Input}).Outward()
	out := c.Agent.Parts.Hooks.Fire(ctx, hooks.Call{
		Hook: hooks.BeforeMessage, Agent: c.Agent.ID, Session: string(c.Key), Run: runID,
		TraceParent: trace.Parent, TraceState: trace.State,
		Args: hooks.Args{"message": it.Input.Envelope}, Changeable: hooks.Changeable{"message": check},
	})
	s := c.screening(it, out)
	s.Hooks = actsOf(hooks.BeforeMessage, "", out.Acts)
	return s
}

// screening is what hooks leave of an input.
func (c Session) screening(it *message.Item, out hooks.Outcome) *message.Screening {
	switch out.Action {
	case hooks.Abort:
		return it.Origin.HeldBack(reasonOf(out, c.Book(it)))
	case hooks.Override:
		s, err := it.Origin.Overridden(out.Args["message"])
		switch {
		case errors.Is(err, message.ErrEmptied):
			return it.Origin.HeldBack(c.Book(it).Say("message_emptied"))
		case err != nil: // was checked: it does not happen
			return it.Origin.HeldBack(c.Book(it).Say("message_unchecked"))
		}
		return s
	}
	return &message.Screening{Origin: it.Origin, Envelope: it.Input.Envelope}
}

// ScreenAll has the hooks see all inputs of the run that is to begin. It returns
// the reason why one of them is refused.
func (t *Run) ScreenAll(ctx context.Context) (refused string) {
	for i, it := range t.Items {
		s := t.Screen(ctx, it, t.ID)
		if s == nil {
			continue
		}
		it.Use(s)
		t.SetInput(i, it.Input)
		refused = cmp.Or(refused, s.Refused)
	}
	return refused
}

// ScreenAnswer has the hooks see what a person says in their own words to the
// question of a run. It returns the reason why a hook refuses it.
func (c Session) ScreenAnswer(ctx context.Context, it *message.Item, r *run.Run, sig *run.Signal) (refused string) {
	if sig.Kind != run.Answered || it.Origin.Inbound == nil || !inOwnWords(r, sig.Call) {
		return ""
	}
	s := c.Screen(ctx, it, r.ID)
	if s == nil {
		return ""
	}
	sig.Answer = ask.ReadAgain(it.Origin.Inbound.Said(), sig.Answer, s.Origin.Inbound.Said())
	it.Use(s)
	if sig.Input != nil {
		sig.Input.Hooks = s.Hooks
	}
	return s.Refused
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

// RefusedByHook tells a person why a hook refuses a message outside of any run.
func RefusedByHook(reason string) *run.Error {
	return &run.Error{Code: llm.CodeCancelled, Message: reason}
}
