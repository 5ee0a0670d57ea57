package toolcall

import (
	"context"
	"slices"

	"agenthost/agents/internal/ask"
	"agenthost/run"
	"agenthost/tools"
)

// Release lets go of what a run waits for that ends before its time.
func (t *Caller) Release(r *run.Run) {
	if r == nil {
		return
	}
	for _, call := range r.Open() {
		if call.Asked == run.ForDelegate {
			t.Recall(call)
		}
		t.Agent.Parts.Asks.Delete(t.WaitID(t.ID, call))
	}
}

// Heard does what goes with an answer besides the machine, and before it: what
// is allowed for longer is kept, and who works for a run that ends is stopped.
func (t *Caller) Heard(ctx context.Context, r *run.Run, sig run.Signal) error {
	if sig.Kind == run.Abort {
		t.Release(r)
		return nil
	}
	if sig.Kind != run.Answered || sig.Answer != run.Approve || sig.Scope == ask.ScopeOnce || sig.Scope == "" {
		return nil
	}
	if r.Hold != nil && r.Hold.ID == sig.Call {
		return t.Agent.Parts.Asks.Allow(t.Agent.Work, t.Agent.ID, t.Key, ask.OverBudget, sig.Scope, sig.By)
	}
	i := slices.IndexFunc(r.Calls, func(call run.Call) bool { return call.ID == sig.Call })
	if i < 0 || r.Calls[i].Asked != run.ForApproval {
		return nil
	}
	t.Profile.Tools.Await(ctx)
	tool, err := t.Profile.Tools.Demand(ctx, r.Calls[i].Name)
	if err != nil {
		return nil //nolint:nilerr // without the tool there is nothing to allow
	}
	args := approved(r.Calls[i], sig)
	if t.forbidden(tool, args) != "" {
		return nil // a scope lifts no deny
	}
	return t.Agent.Parts.Asks.Allow(t.Agent.Work, t.Agent.ID, t.Key, tools.Key(tool, args), sig.Scope, sig.By)
}
