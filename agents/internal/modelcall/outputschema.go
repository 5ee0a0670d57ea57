package modelcall

import (
	"context"
	"errors"
	"slices"

	"agenthost/llm"
	"agenthost/run"
)

// repairs is how often a model may correct an answer that its schema does not
// allow.
const repairs = 2

// An answerer says what comes next: the model, or a behaviour.
type answerer func(context.Context, llm.Request, *meter) (llm.Message, llm.Finish, error)

// invokeChecked has answer say something until it keeps to the schema of the
// agent. No person sees it before, so nothing is streamed, and the tries that
// failed are no part of the conversation.
func (t *Caller) invokeChecked(ctx context.Context, req llm.Request, called *meter, answer answerer) run.Signal {
	for n := 0; ; n++ {
		msg, finish, err := answer(ctx, req, called)
		if err != nil {
			return t.brokenOff(ctx, err, called)
		}
		end := run.Signal{Kind: run.StreamEnd, Message: &msg, Finish: finish, Called: called.events}
		if len(msg.Calls()) > 0 || finish == llm.FinishContentFilter || msg.Empty() {
			t.afterCall(ctx, called, &end)
			return end
		}
		wrong := t.Profile.Tools.Validator.CheckAnswer(req.Schema, msg.Text())
		if wrong == nil {
			t.afterCall(ctx, called, &end)
			return end
		}
		if n == repairs {
			t.Log().Warn().Str("run", t.ID).AnErr("reason", wrong).Msg("answer does not keep to its schema")
			return run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeValidation, Message: t.Profile.Texts.Say("wrong_format")}, Called: called.events}
		}
		req.Messages = append(slices.Clip(req.Messages), msg,
			llm.UserText("Your answer does not keep to the agreed JSON Schema: "+wrong.Error()+". Answer again, with nothing but the JSON."))
	}
}

// collect reads an answer to its end.
func (t *Caller) collect(ctx context.Context, req llm.Request, called *meter) (llm.Message, llm.Finish, error) {
	answer := llm.Builder{}
	if err := t.converse(ctx, req, called, answer.Add); err != nil {
		return llm.Message{}, "", err
	}
	return spoken(&answer, called)
}

// spoken is an answer that has come to its end.
func spoken(answer *llm.Builder, called *meter) (llm.Message, llm.Finish, error) {
	if answer.Finish() == "" {
		return llm.Message{}, "", errors.New("stream ended without a finish")
	}
	if n := len(called.events); n > 0 { // else its reasoning belongs to no event, and the next call lacks it
		answer.Provider = called.events[n-1].Provider
	}
	return answer.Message(), answer.Finish(), nil
}
