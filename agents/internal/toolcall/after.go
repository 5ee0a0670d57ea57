package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"agenthost/agents/internal/hookvalue"
	"agenthost/hooks"
	"agenthost/run"
)

// heldBack is the result in place of one that no hook has let through.
const heldBack = "its result is held back: a hook of this host that has to see it first has failed"

// afterTool lets the after_tool_call hooks change what the model is told.
func (t *Caller) afterTool(ctx context.Context, call run.Call, args json.RawMessage, ok bool, text string) (bool, string) {
	if !t.Hooked(hooks.AfterToolCall) {
		return ok, text
	}
	told, err := hookvalue.EncodeArgs(map[string]any{"call": call.ID, "name": call.Name, "args": args, "ok": ok, "result": text})
	if err != nil {
		t.Log().Error().Err(err).Msg("encode arguments of after_tool_call")
		return ok, text
	}
	out := t.FireHooks(ctx, hooks.AfterToolCall, call.ID, told, changeableResult)
	switch out.Action {
	case hooks.Abort: // of one that has failed and is to fail closed
		return false, heldBack
	case hooks.Override:
	default:
		return ok, text
	}
	changedOK, changed := ok, text
	if err := errors.Join(json.Unmarshal(out.Args["ok"], &changedOK), json.Unmarshal(out.Args["result"], &changed)); err != nil {
		return ok, text // was checked: it does not happen
	}
	return changedOK, changed
}

// AfterWait lets the after_tool_call hooks see, and change, the result of a call of r which has
// waited, that sig brings. What is approved has none yet.
func (t *Caller) AfterWait(ctx context.Context, r *run.Run, sig run.Signal) run.Signal {
	i := slices.IndexFunc(r.Calls, func(call run.Call) bool { return call.ID == sig.Call && !call.Done && call.Asked != "" })
	if i < 0 || !t.Hooked(hooks.AfterToolCall) {
		return sig
	}
	call := r.Calls[i]
	ok, text, settled := call.Outcome(&sig)
	if !settled {
		return sig
	}
	changedOK, changed := t.afterTool(t.Uncancelled(ctx), call, call.Args, ok, text)
	if changedOK != ok || changed != text {
		sig.Settle(&call, changedOK, changed)
	}
	return sig
}
