package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"agenthost/agents/internal/hookvalue"
	"agenthost/agents/internal/stream"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// invoke calls the model. The machine hears what it says as it comes, and by
// the signal that is returned how it ended.
func (t *runner) invoke(ctx context.Context, e run.Effect, out *stream.Writer) run.Signal {
	req := t.request(ctx)
	state := t.journal.State()
	req.Messages, req.Contents = run.Shown(state.Messages, e.Short, e.Room), state.Contents()
	req.Schema = t.p.tools.Output
	req.Silence = state.Run != nil && state.Run.Trigger == run.ByHeartbeat
	called := t.newMeter()
	if refused := t.beforeCall(ctx, &req, called); refused != nil {
		return *refused
	}
	if t.p.behavior != nil {
		return t.decide(ctx, req, called, out)
	}
	if len(req.Schema) > 0 {
		return t.invokeChecked(ctx, req, called, t.collect)
	}
	broken := t.converse(ctx, req, called, func(delta llm.Delta) { t.speak(delta, out) })
	if broken != nil {
		out.End(EndCut)
		return t.brokenOff(ctx, broken, called)
	}
	end := run.Signal{Kind: run.StreamEnd, Called: called.events}
	t.endCall(ctx, called, &end, out)
	return end
}

// endCall ends the stream of an answer and has the after_model_call hooks see it.
// They are first where the stream is held for them.
func (t *runner) endCall(ctx context.Context, called *meter, end *run.Signal, out *stream.Writer) {
	if !out.Held {
		out.End(EndDone)
		t.afterCall(ctx, called, end)
		return
	}
	if changed := t.afterCall(ctx, called, end); changed {
		out.Replace(*end.Message)
	}
	out.Release()
	out.End(EndDone)
}

// speak passes on what the model says. The machine comes first: who asks it what
// was said misses nothing.
func (t *runner) speak(delta llm.Delta, out *stream.Writer) {
	t.journal.Step(run.Signal{Kind: run.Emission, At: time.Now(), Run: t.id, Delta: delta}, t.p.limits())
	out.Add(delta)
}

// request is what every call of the model has in common, so that what a
// provider keeps of one prompt is of use for the next.
func (t *runner) request(ctx context.Context) llm.Request {
	p := t.p
	p.tools.await(ctx)
	req := llm.Request{System: p.system, Tools: p.tools.defs()}
	t.tag(&req)
	p.overhead.Store(int64(overhead(req)))
	return req
}

// tag says of a request whose it is, and in which trace.
func (t *runner) tag(req *llm.Request) {
	trace := t.trace.Outward()
	req.Session, req.TraceParent, req.TraceState = t.line(), trace.Parent, trace.State
}

// overhead estimates the tokens of a request besides its messages: of schemas
// and of most languages, three bytes make one.
func overhead(req llm.Request) int {
	bytes := len(req.System)
	for _, d := range req.Tools {
		bytes += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	return bytes / 3
}

// brokenOff is the signal of a model that did not come to an end.
func (t *runner) brokenOff(ctx context.Context, broken error, called *meter) run.Signal {
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
		t.c.log().Warn().Err(broken).Str("run", t.id).Msg("conversation is too long for the model; set the window of the model to have it summed up before")
	case ctx.Err() == nil:
		t.c.log().Warn().Err(broken).Str("run", t.id).Msg(t.c.r.speaker() + " failed")
	}
	return fault
}

// beforeCall lets the before_model_call hooks change the request, and which
// models called asks. It returns the signal that ends the run when one of them
// aborts.
func (t *runner) beforeCall(ctx context.Context, req *llm.Request, called *meter) *run.Signal {
	if !t.c.hooked(hooks.BeforeModelCall) {
		return nil
	}
	args, err := encodeArgs(map[string]any{"model": t.p.cfg.Model, "messages": req.Messages, "tools": req.Tools})
	if err != nil {
		t.c.log().Error().Err(err).Msg("encode arguments of before_model_call")
		return nil
	}
	out := t.c.r.parts.Hooks.Fire(ctx, t.call(hooks.BeforeModelCall, args, t.changeableRequest()))
	switch out.Action {
	case hooks.Abort:
		return t.refusal(out.Reason)
	case hooks.Override:
		if err := t.change(req, called, args, out.Args); err != nil { // was checked: it does not happen
			return &run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeInternal}}
		}
	}
	return nil
}

// change makes of a request what the hooks have made of its arguments.
func (t *runner) change(req *llm.Request, called *meter, args, changed hooks.Args) (err error) {
	if !bytes.Equal(changed["model"], args["model"]) {
		if called.models, called.names, err = t.p.chosen(changed["model"]); err != nil {
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
	}
	return err
}

// afterCall lets the after_model_call hooks change the answer, and reports
// whether they have.
func (t *runner) afterCall(ctx context.Context, called *meter, end *run.Signal) (changed bool) {
	if !t.c.hooked(hooks.AfterModelCall) {
		return false
	}
	said := t.journal.State().Partial()
	if end.Message != nil {
		said = *end.Message
	}
	var usage *llm.Usage
	if n := len(end.Called); n > 0 {
		usage = end.Called[n-1].Usage
	}
	asked := t.p.cfg.Model
	if called.models != nil {
		asked = called.names
	}
	args, err := encodeArgs(map[string]any{"model": asked, "message": said, "usage": usage})
	if err != nil {
		t.c.log().Error().Err(err).Msg("encode arguments of after_model_call")
		return false
	}
	out := t.c.r.parts.Hooks.Fire(ctx, t.call(hooks.AfterModelCall, args, changeableAnswer))
	if out.Action != hooks.Override {
		return false
	}
	left, err := hookvalue.Message(out.Args["message"])
	if err != nil { // was checked: it does not happen
		t.c.log().Warn().Err(err).Msg("what an after_model_call hook changed cannot be read; the answer stays as it was")
		return false
	}
	end.Message = &left
	return true
}

func (t *runner) call(point string, args hooks.Args, changeable hooks.Changeable) hooks.Call {
	trace := t.trace.Outward()
	return hooks.Call{
		Hook: point, Agent: t.c.r.id, Session: string(t.c.key), Run: t.id, Args: args, Changeable: changeable,
		TraceParent: trace.Parent, TraceState: trace.State,
	}
}

func encodeArgs(values map[string]any) (hooks.Args, error) {
	args := make(hooks.Args, len(values))
	for name, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		args[name] = data
	}
	return args, nil
}
