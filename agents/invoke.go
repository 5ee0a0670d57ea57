package agents

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
)

// invoke calls the model. The machine hears what it says as it comes, and by
// the signal that is returned how it ended.
func (t *runner) invoke(ctx context.Context) run.Signal {
	t.c.r.tools.await(ctx)
	req := llm.Request{
		System: t.c.r.cfg.Instructions + t.c.r.peers(), Messages: t.journal.State().Messages, Tools: t.c.r.tools.defs(),
		Schema: t.c.r.tools.Output, Session: t.line(),
	}
	if refused := t.beforeCall(ctx, &req); refused != nil {
		return *refused
	}
	called := &calls{t: t}
	if len(req.Schema) > 0 {
		return t.invokeChecked(ctx, req, called)
	}
	stream := t.newStream()
	var broken error
	for delta, err := range t.c.r.chain.Stream(ctx, req, called.add) {
		if err != nil {
			broken = err
			break
		}
		stream.add(delta)
		t.journal.Step(run.Signal{Kind: run.Emission, At: time.Now(), Run: t.id, Delta: delta}, t.c.r.limits)
	}
	if broken != nil {
		return t.brokenOff(ctx, broken, called.events)
	}
	end := run.Signal{Kind: run.StreamEnd, Called: called.events}
	t.afterCall(ctx, &end)
	return end
}

// brokenOff is the signal of a model that did not come to an end.
func (t *runner) brokenOff(ctx context.Context, broken error, called []run.Event) run.Signal {
	fault := run.Signal{Kind: run.Fault, Called: called, Error: &run.Error{Code: llm.AsError(broken).Code}}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		fault.Error.Code = llm.CodeRunTimeout
	} else if ctx.Err() == nil {
		t.c.log().Warn().Err(broken).Str("run", t.id).Msg("model failed")
	}
	return fault
}

// beforeCall lets the before_model_call hooks change the request. It returns
// the signal that ends the run when one of them aborts.
func (t *runner) beforeCall(ctx context.Context, req *llm.Request) *run.Signal {
	if !t.c.r.parts.Hooks.Has(hooks.BeforeModelCall) {
		return nil
	}
	args, err := encodeArgs(map[string]any{"model": t.c.r.cfg.Model, "messages": req.Messages, "tools": req.Tools})
	if err != nil {
		t.c.log().Error().Err(err).Msg("encode arguments of before_model_call")
		return nil
	}
	out := t.c.r.parts.Hooks.Fire(ctx, t.call(hooks.BeforeModelCall, args))
	switch out.Action {
	case hooks.Abort:
		return t.refusal(out.Reason)
	case hooks.Override:
		messages, tools := []llm.Message(nil), []llm.ToolDef(nil)
		if err := errors.Join(json.Unmarshal(out.Args["messages"], &messages), json.Unmarshal(out.Args["tools"], &tools)); err != nil {
			t.c.log().Warn().Err(err).Msg("what a before_model_call hook changed cannot be read; the request stays as it was")
			return nil
		}
		req.Messages, req.Tools = messages, tools
	}
	return nil
}

// afterCall lets the after_model_call hooks change the answer.
func (t *runner) afterCall(ctx context.Context, end *run.Signal) {
	if !t.c.r.parts.Hooks.Has(hooks.AfterModelCall) {
		return
	}
	said := t.journal.State().Partial()
	var usage *llm.Usage
	if n := len(end.Called); n > 0 {
		usage = end.Called[n-1].Usage
	}
	args, err := encodeArgs(map[string]any{"model": t.c.r.cfg.Model, "message": said, "usage": usage})
	if err != nil {
		t.c.log().Error().Err(err).Msg("encode arguments of after_model_call")
		return
	}
	out := t.c.r.parts.Hooks.Fire(ctx, t.call(hooks.AfterModelCall, args))
	if out.Action != hooks.Override {
		return
	}
	changed := llm.Message{}
	if err := json.Unmarshal(out.Args["message"], &changed); err != nil {
		t.c.log().Warn().Err(err).Msg("what an after_model_call hook changed cannot be read; the answer stays as it was")
		return
	}
	end.Message = &changed
}

func (t *runner) call(point string, args hooks.Args) hooks.Call {
	return hooks.Call{Hook: point, Agent: t.c.r.cfg.ID, Session: string(t.c.key), Run: t.id, Args: args}
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

// summarise is what the model is asked to do with the old part of a
// conversation.
const summarise = "Summarise the conversation so far for your own later use: facts, names, numbers, decisions, open " +
	"points, and what the people want. Leave out greetings. Write plain text."

// compact has the model sum up the oldest messages.
func (t *runner) compact(ctx context.Context, through int) run.Signal {
	old := t.journal.State().Messages[:through:through]
	req := llm.Request{System: t.c.r.cfg.Instructions, Messages: append(old, llm.UserText(summarise)), Session: t.line()}
	called := &calls{t: t}
	summary := llm.Builder{}
	end := run.Signal{Kind: run.CompactEnd}
	for delta, err := range t.c.r.chain.Stream(ctx, req, called.add) {
		if err != nil {
			t.c.log().Warn().Err(err).Msg("conversation cannot be summed up; its oldest part is left out")
			end.Error = &run.Error{Code: llm.CodeCompactionFailed}
			break
		}
		summary.Add(delta)
	}
	msg := summary.Message()
	end.Summary, end.Called = msg.Text(), called.events
	return end
}
