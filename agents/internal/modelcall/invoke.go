package modelcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/hookvalue"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/stream"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// Invoke calls the model. The machine hears what it says as it comes, and by
// the signal that is returned how it ended.
func (t *Caller) Invoke(ctx context.Context, e run.Effect, out *stream.Writer) run.Signal {
	called := t.newMeter()
	sig := t.invoke(ctx, e, called, out)
	sig.Offers = called.offers
	return sig
}

func (t *Caller) invoke(ctx context.Context, e run.Effect, called *meter, out *stream.Writer) run.Signal {
	req := t.request(ctx)
	state := t.Journal.State()
	req.Messages, req.Contents = run.Shown(state.Messages, e.Short, e.Room), state.Contents()
	req.Schema = t.Profile.Tools.Output
	req.Silence = state.Run != nil && state.Run.Trigger == run.ByHeartbeat
	if refused := t.beforeCall(ctx, &req, called); refused != nil {
		return *refused
	}
	if t.Profile.Behavior != nil {
		return t.decide(ctx, req, called, out)
	}
	if len(req.Schema) > 0 {
		return t.invokeChecked(ctx, req, called, t.collect)
	}
	broken := t.converse(ctx, req, called, func(delta llm.Delta) { t.speak(delta, out) })
	if broken != nil {
		out.End(agents.EndCut)
		return t.brokenOff(ctx, broken, called)
	}
	end := run.Signal{Kind: run.StreamEnd, Called: called.events}
	t.endCall(ctx, called, &end, out)
	return end
}

// endCall ends the stream of an answer and has the after_model_call hooks see it.
// They are first where the stream is held for them.
func (t *Caller) endCall(ctx context.Context, called *meter, end *run.Signal, out *stream.Writer) {
	if !out.Held {
		out.End(agents.EndDone)
		t.afterCall(ctx, called, end)
		return
	}
	if changed := t.afterCall(ctx, called, end); changed {
		out.Replace(*end.Message)
	}
	out.Release()
	out.End(agents.EndDone)
}

// speak passes on what the model says. The machine comes first: who asks it what
// was said misses nothing.
func (t *Caller) speak(delta llm.Delta, out *stream.Writer) {
	t.Journal.Step(run.Signal{Kind: run.Emission, At: time.Now(), Run: t.ID, Delta: delta}, t.Profile.Limits())
	out.Add(delta)
}

// request is what every call of the model has in common, so that what a
// provider keeps of one prompt is of use for the next.
func (t *Caller) request(ctx context.Context) llm.Request {
	p := t.Profile
	p.Tools.Await(ctx)
	req := llm.Request{System: p.System, Tools: p.Tools.Defs()}
	t.tag(&req)
	p.Overhead.Store(int64(profile.Overhead(req)))
	return req
}

// tag says of a request whose it is, and in which trace.
func (t *Caller) tag(req *llm.Request) {
	trace := t.Trace.Outward()
	req.Session, req.TraceParent, req.TraceState = t.Line(), trace.Parent, trace.State
}

// brokenOff is the signal of a model that did not come to an end.
func (t *Caller) brokenOff(ctx context.Context, broken error, called *meter) run.Signal {
	if sig, ok := called.refused(broken); ok {
		return sig
	}
	e := llm.AsError(broken)
	fault := run.Signal{Kind: run.Fault, Called: called.events, Error: &run.Error{Code: e.Code}}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		fault.Error.Code = llm.CodeRunTimeout
	case ctx.Err() == nil && e.TooLong:
		fault.TooLong, fault.Error.Code = true, llm.CodeCompactionFailed
		t.Log().Warn().Err(broken).Str("run", t.ID).Msg("conversation is too long for the model; set the window of the model to have it summed up before")
	case ctx.Err() == nil:
		t.Log().Warn().Err(broken).Str("run", t.ID).Msg(t.speaker() + " failed")
	}
	return fault
}

// beforeCall lets the before_model_call hooks change the request, and which
// models called asks. It returns the signal that ends the run when one of them
// aborts.
func (t *Caller) beforeCall(ctx context.Context, req *llm.Request, called *meter) *run.Signal {
	if !t.Hooked(hooks.BeforeModelCall) {
		return nil
	}
	args, err := hookvalue.EncodeArgs(map[string]any{"model": t.Profile.Config.Model, "messages": req.Messages, "tools": req.Tools})
	if err != nil {
		t.Log().Error().Err(err).Msg("encode arguments of before_model_call")
		return nil
	}
	out := t.FireHooks(ctx, hooks.BeforeModelCall, "", args, t.changeableRequest())
	switch out.Action {
	case hooks.Abort:
		return t.HookRefusal(out)
	case hooks.Override:
		if err := t.change(req, called, args, out.Args); err != nil { // was checked: it does not happen
			return &run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeInternal}}
		}
	}
	return nil
}

// change makes of a request what the hooks have made of its arguments.
func (t *Caller) change(req *llm.Request, called *meter, args, changed hooks.Args) (err error) {
	if !bytes.Equal(changed["model"], args["model"]) {
		if called.models, called.names, err = t.Profile.Chosen(changed["model"]); err != nil {
			return err
		}
	}
	if !bytes.Equal(changed["messages"], args["messages"]) {
		req.Contents = llm.Contents{}
		if req.Messages, err = hookvalue.Messages(changed["messages"]); err != nil {
			return err
		}
	}
	if !bytes.Equal(changed["tools"], args["tools"]) {
		req.Tools = nil // else the tools of others would be written over
		err = json.Unmarshal(changed["tools"], &req.Tools)
		called.offers = among(req.Tools)
	}
	return err
}

// among reports whether a tool is one of a list.
func among(list []llm.ToolDef) func(tool string) bool {
	names := make(map[string]bool, len(list))
	for _, def := range list {
		names[def.Name] = true
	}
	return func(tool string) bool { return names[tool] }
}

// afterCall lets the after_model_call hooks change the answer, and reports
// whether they have.
func (t *Caller) afterCall(ctx context.Context, called *meter, end *run.Signal) (changed bool) {
	if !t.Hooked(hooks.AfterModelCall) {
		return false
	}
	said := t.Journal.State().Partial()
	if end.Message != nil {
		said = *end.Message
	}
	var usage *llm.Usage
	if n := len(end.Called); n > 0 {
		usage = end.Called[n-1].Usage
	}
	asked := t.Profile.Config.Model
	if called.models != nil {
		asked = called.names
	}
	args, err := hookvalue.EncodeArgs(map[string]any{"model": asked, "message": said, "usage": usage})
	if err != nil {
		t.Log().Error().Err(err).Msg("encode arguments of after_model_call")
		return false
	}
	out := t.FireHooks(ctx, hooks.AfterModelCall, "", args, changeableAnswer)
	if out.Action != hooks.Override {
		return false
	}
	left, err := hookvalue.Message(out.Args["message"])
	if err != nil { // was checked: it does not happen
		t.Log().Warn().Err(err).Msg("what an after_model_call hook changed cannot be read; the answer stays as it was")
		return false
	}
	end.Message = &left
	return true
}
