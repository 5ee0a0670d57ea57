package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/clock"
	"agenthost/agents/internal/hookvalue"
	"agenthost/agents/internal/inflight"
	"agenthost/hooks"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/tools"
)

// Use does what a model asked for, if it may. The signal that it returns
// settles the call, lets it wait, or ends the run where a hook aborts.
func (t *Caller) Use(ctx context.Context, call run.Call, turn *RoundCall) run.Signal {
	s := &seen{}
	sig := t.refuseUnsendable(call, t.use(ctx, call, turn, s))
	if sig.Kind != run.ToolSettled || sig.Wait != nil {
		return sig
	}
	turn.settle(nil)
	if s.before {
		sig.OK, sig.Result = t.afterTool(t.Uncancelled(ctx), call, s.args, sig.OK, sig.Result)
	}
	return sig
}

// seen is what the before_tool_call hooks have seen of a call: what they have, those after it are
// to see as well.
type seen struct {
	before bool
	args   json.RawMessage // as they were left
}

func (t *Caller) use(ctx context.Context, call run.Call, turn *RoundCall, s *seen) (sig run.Signal) {
	defer func() {
		if p := recover(); p != nil {
			t.Log().Error().Interface("panic", p).Bytes("stack", debug.Stack()).Str("tool", call.Name).Msg("panic in a tool")
			sig = run.Signal{Result: "the tool broke down; its outcome is unknown"}
		}
		if sig.Kind == "" {
			sig.Kind, sig.Call = run.ToolSettled, call.ID
		}
	}()
	box := t.Profile.Tools
	box.Await(ctx) // a run that is taken up again comes here first
	tool, err := box.Demand(ctx, call.Name)
	if errors.Is(err, tools.ErrNoTool) {
		return correction(run.NoTool(call.Name))
	}
	if err != nil { // the call was right: it is not for the model to correct
		return run.Signal{Result: err.Error()}
	}
	if err := box.Check(tool, call.Args); err != nil {
		return correction(err.Error())
	}
	if t.Agent.Now().Shadow() && !harmless(tool) {
		return spared()
	}
	args, refused := t.beforeTool(ctx, tool, call)
	s.before, s.args = true, args
	if refused != nil {
		return *refused
	}
	wait, denied := t.mayUse(ctx, tool, call, args)
	if wait != nil && t.Agent.Now().Shadow() {
		return spared()
	}
	if wait != nil || denied != "" {
		return run.Signal{Wait: wait, Result: denied, Source: run.FromDenial}
	}
	if !tool.Asks {
		turn.settle(nil)
	}
	res, err := t.execute(ctx, tool, call, args)
	if res.Wait != nil && err == nil && t.Agent.Now().Shadow() {
		return spared()
	}
	if res.Wait != nil && err == nil {
		return t.waitFor(*res.Wait, args)
	}
	return t.outcome(ctx, call, args, res, err)
}

// correction tells the model that its call cannot be run as it is.
func correction(why string) run.Signal {
	return run.Signal{Result: why, Source: run.FromCorrection}
}

// mayUse is the policy: it returns what to ask a person, or why not.
func (t *Caller) mayUse(ctx context.Context, tool tools.Tool, call run.Call, args json.RawMessage) (*run.Wait, string) {
	if call.Approved {
		return nil, t.forbidden(tool, args)
	}
	switch d := t.Profile.Tools.Policy.Decide(tool, args, nil); d.Verdict {
	case tools.Allow:
		return nil, ""
	case tools.Deny:
		return nil, refusal(d)
	default:
		if d.Address != "" && t.Journal.State().HasWritten(d.Address) {
			return nil, ""
		}
		if t.Agent.Parts.Asks.Allowed(ctx, t.Agent.ID, t.Key, tools.Key(tool, args)) {
			return nil, ""
		}
		return &run.Wait{
			For: run.ForApproval, Prompt: t.preview(ctx, tool, call, args, d.What), Args: args, ID: ask.NewToken(),
			Deadline: inflight.Earlier(time.Now().Add(t.Profile.Config.Limits.ApprovalTimeout), t.Until()),
		}, ""
	}
}

// forbidden says why the permissions of by now deny a call that was approved: they may have
// changed while it waited. It is empty when they do not.
func (t *Caller) forbidden(tool tools.Tool, args json.RawMessage) string {
	if d := t.Agent.Now().Tools.Policy.Decide(tool, args, nil); d.Verdict == tools.Deny {
		return refusal(d)
	}
	return ""
}

func refusal(d tools.Decision) string { return "not allowed: " + d.Reason }

// approved are the arguments that an approval lets run.
func approved(call run.Call, sig run.Signal) json.RawMessage {
	if len(sig.Args) > 0 {
		return sig.Args
	}
	return call.Args
}

// execute runs the tool within its time.
func (t *Caller) execute(ctx context.Context, tool tools.Tool, call run.Call, args json.RawMessage) (tools.Result, error) {
	ctx, cancel := clock.With(ctx, cmp.Or(tool.Timeout, tools.DefaultTimeout))
	defer cancel()
	crash.Point("in-tool")
	trace := t.Trace.Outward()
	res, err := tool.Run(ctx, tools.Call{
		ID: t.ID + "." + call.ID, Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID,
		Name: call.Name, Args: args, Chat: t.Chat(), Chain: t.Chain(), Progress: t.progress(call),
		TraceParent: trace.Parent, TraceState: trace.State,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = context.DeadlineExceeded
	}
	return res, err
}

// outcome is what the model is told of a call that has run. What is too long
// for it is kept whole.
func (t *Caller) outcome(ctx context.Context, call run.Call, args json.RawMessage, res tools.Result, err error) run.Signal {
	ok := err == nil && !res.Failed
	text := res.Text
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		text = "it took too long and was stopped; its outcome is unknown"
	case err != nil && ctx.Err() != nil:
		text = cmp.Or(text, stopped)
	case err != nil:
		text = cmp.Or(text, err.Error())
	}
	if shown, cut := tools.Bound(text); cut {
		store, cancel := context.WithTimeout(t.Agent.Work, 30*time.Second)
		if name, err := t.Agent.Parts.Files.Put(store, []byte(text)); err == nil {
			shown += "\n[the whole is kept as object " + name + "]"
		}
		cancel()
		text = shown
	}
	if call.Changed {
		text = "[the person who approved this call changed its arguments to " + string(args) + "]\n" + text
	}
	return run.Signal{OK: ok, Result: text}
}

// beforeTool lets the before_tool_call hooks change the arguments; refused is
// the signal that ends the run when one of them aborts, or settles the call when
// they leave what the tool does not take. Of a call that was approved they have
// said what they had to say: what a person was shown is what runs.
func (t *Caller) beforeTool(ctx context.Context, tool tools.Tool, call run.Call) (args json.RawMessage, refused *run.Signal) {
	if call.Approved || !t.Hooked(hooks.BeforeToolCall) {
		return call.Args, nil
	}
	out := t.FireHooks(ctx, hooks.BeforeToolCall, call.ID, hooks.Args{
		"call": hookvalue.Quoted(call.ID), "name": hookvalue.Quoted(call.Name), "args": call.Args,
	}, changeableCall)
	switch out.Action {
	case hooks.Abort:
		return nil, t.HookRefusal(out)
	case hooks.Override:
		args = out.Args["args"]
		if err := t.Profile.Tools.Check(tool, args); err != nil {
			t.Log().Warn().Err(err).Str("run", t.ID).Str("tool", call.Name).Msg("a before_tool_call hook changed the arguments to what the tool does not take; it is not run")
			why := "not run: a hook of this host, not you, changed the arguments to what the tool does not take: "
			return args, &run.Signal{Result: why + err.Error(), Source: run.FromDenial}
		}
		return args, nil
	}
	return call.Args, nil
}

// stopped is the result of a tool that ended because the run is stopped.
const stopped = "it was stopped; its outcome is unknown"
