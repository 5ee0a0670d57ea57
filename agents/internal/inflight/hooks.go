package inflight

import (
	"context"
	"slices"
	"time"

	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/run"
)

// FireHooks calls the hooks of a point for this run. What they do is in the log with
// the next commit that it belongs to; call is that of the tool, if it is about one.
func (t *Run) FireHooks(ctx context.Context, point, call string, args hooks.Args, changeable hooks.Changeable) hooks.Outcome {
	if isCanary(t.Key) {
		return hooks.Outcome{}
	}
	trace := t.Trace.Outward()
	out := t.Agent.Parts.Hooks.Fire(ctx, hooks.Call{
		Hook: point, Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID, Args: args, Changeable: changeable,
		TraceParent: trace.Parent, TraceState: trace.State,
	})
	if len(out.Acts) > 0 {
		t.mu.Lock()
		t.acts = append(t.acts, actsOf(point, call, out.Acts)...)
		t.mu.Unlock()
	}
	return out
}

// AddHookActs puts what hooks have done so far into the events that are to be
// committed. What belongs to an event that is still to come waits for it.
func (t *Run) AddHookActs(events []run.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.acts) == 0 {
		return
	}
	t.acts = slices.DeleteFunc(t.acts, func(act run.HookAct) bool {
		i := eventOf(act, events)
		if i >= 0 {
			events[i].Hooks = append(events[i].Hooks, act)
		}
		return i >= 0
	})
}

// eventOf is the place of the event that an act belongs to, -1 when it is still to
// come. The end of the run takes what is left.
func eventOf(act run.HookAct, events []run.Event) int {
	for i, e := range slices.Backward(events) {
		if act.Call != "" && e.Call == act.Call && slices.Contains(ofCall, e.Type) || act.Call == "" && e.Type == run.ModelCalled {
			return i
		}
	}
	return slices.IndexFunc(events, func(e run.Event) bool { return e.Type == run.Finished })
}

// ofCall are the events that show what became of a call of a tool.
var ofCall = []run.EventType{run.ToolFinished, run.ApprovalAsked, run.QuestionAsked, run.Delegated}

// HookRefusal is the signal of a hook that aborts.
func (t *Run) HookRefusal(out hooks.Outcome) *run.Signal {
	return t.Refusal(reasonOf(out, t.Profile.Texts))
}

// Refusal is the signal of a hook that aborts for a reason.
func (t *Run) Refusal(reason string) *run.Signal {
	return &run.Signal{Kind: run.Abort, At: time.Now(), Run: t.ID, Reason: reason, By: "hook"}
}

// reasonOf is what a person is told of a hook that aborts.
func reasonOf(out hooks.Outcome, book texts.Book) string {
	switch {
	case out.Failed():
		return book.Say("message_unchecked")
	case out.Reason == "":
		return book.Say("message_not_allowed")
	}
	return out.Reason
}
