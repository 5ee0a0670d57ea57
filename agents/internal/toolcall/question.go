package toolcall

import (
	"context"

	"agenthost/agents"
	"agenthost/internal/crash"
	"agenthost/run"
)

// Ask puts a question to the person or the agent that it is for. It is done again after a
// restart, and then changes nothing: everything in it has a name of its own.
func (t *Caller) Ask(ctx context.Context, call run.Call) error {
	w := agents.Waiting{
		ID: t.WaitID(t.ID, call), Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID,
		Call: call.ID, Kind: call.Asked, Tool: call.Name, Prompt: call.Prompt, Options: call.Options, To: call.To,
		Number: call.Number, AskedAt: call.AskedAt, Deadline: call.Deadline, Origin: t.Person(),
		Model: t.LastModel(), Host: t.Agent.Parts.Host, Approvers: t.Agent.Now().Config.Approvers,
	}
	w.Notified = call.Asked == run.ForApproval && t.notifies()
	if call.Asked == run.ForDelegate {
		if err := t.handOver(ctx, w, call.Context); err != nil {
			return err
		}
	}
	asks := t.Agent.Parts.Asks
	if err := asks.Remind(ctx, w, t.fallbacks[call.ID], t.Trace.Set); err != nil {
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
