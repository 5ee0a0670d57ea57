package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/tools"
)

// Ask puts a question to the person or the agent that it is for. It is done again after a
// restart, and then changes nothing: everything in it has a name of its own.
func (t *Caller) Ask(ctx context.Context, call run.Call) error {
	w := t.waiting(call)
	if call.Asked == run.ForDelegate {
		if err := t.handOver(ctx, w, call.Context); err != nil {
			return err
		}
	}
	asks := t.Agent.Parts.Asks
	if err := asks.Remind(ctx, w, call.Default, t.Trace.Set); err != nil {
		return err
	}
	if err := t.notifyApprovers(ctx, w); err != nil {
		return err
	}
	if err := asks.Put(ctx, w); err != nil {
		return err
	}
	crash.Point("after-ask")
	return nil
}

// waiting is a call that waits, as other sessions and hosts know it.
func (t *Caller) waiting(call run.Call) agents.Waiting {
	return agents.Waiting{
		ID: t.WaitID(t.ID, call), Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID,
		Call: call.ID, Kind: call.Asked, Tool: call.Name, Prompt: call.Prompt, Options: call.Options, To: call.To,
		Number: call.Number, AskedAt: call.AskedAt, Deadline: call.Deadline, Origin: t.Person(),
		Model: t.LastModel(), Host: t.Agent.Parts.Host, Approvers: t.Agent.Now().Config.Approvers,
		Notified: call.Asked == run.ForApproval && t.notifies(),
	}
}

// Remind has the deadline of a call come, also one that has passed.
func (t *Caller) Remind(ctx context.Context, call run.Call) error {
	return t.Agent.Parts.Asks.Remind(ctx, t.waiting(call), call.Default, t.Trace.Set)
}

// waitFor turns what a tool waits for into what the machine waits for: a person's answer, or
// another agent's result. args are those that the hooks have left of the call.
func (t *Caller) waitFor(w tools.Wait, args json.RawMessage) run.Signal {
	wait := &run.Wait{For: run.ForQuestion, Prompt: w.Prompt, Options: w.Options, Context: w.Context, ID: ask.NewToken(), Args: args}
	if w.To != "" {
		if why := t.refuseDelegate(w.To); why != "" {
			return run.Signal{Result: why, Source: run.FromDenial}
		}
		t.waitForAgent(wait, w)
	} else {
		wait.Deadline = time.Now().Add(cmp.Or(w.Timeout, t.Profile.Config.Limits.ApprovalTimeout))
		if end := inflight.Earlier(wait.Deadline, t.Until()); end != wait.Deadline { // then the run ends without an answer
			wait.Deadline, w.Default = end, ""
		}
	}
	wait.Default = w.Default
	return run.Signal{Wait: wait}
}
