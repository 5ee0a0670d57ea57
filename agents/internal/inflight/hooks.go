package inflight

import (
	"time"

	"agenthost/hooks"
	"agenthost/run"
)

// HookCall is the call of the hooks of a point for this run.
func (t *Run) HookCall(point string, args hooks.Args, changeable hooks.Changeable) hooks.Call {
	trace := t.Trace.Outward()
	return hooks.Call{
		Hook: point, Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID, Args: args, Changeable: changeable,
		TraceParent: trace.Parent, TraceState: trace.State,
	}
}

// Refusal is the signal of a hook that aborts.
func (t *Run) Refusal(reason string) *run.Signal {
	return &run.Signal{Kind: run.Abort, At: time.Now(), Run: t.ID, Reason: reason, By: "hook"}
}
