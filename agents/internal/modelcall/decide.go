package modelcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"agenthost/agents"
	"agenthost/agents/internal/stream"
	"agenthost/llm"
	"agenthost/run"
)

var (
	errSaysNothing = errors.New("behavior: Decide returned neither text nor calls")
	errTurnOver    = errors.New("the turn is over")
)

// decide has the behaviour say what comes next, in the place of a call of the
// model.
func (t *Caller) decide(ctx context.Context, req llm.Request, called *meter, out *stream.Writer) run.Signal {
	answer := func(ctx context.Context, req llm.Request, called *meter) (llm.Message, llm.Finish, error) {
		return t.decided(ctx, req, called, out)
	}
	if len(req.Schema) > 0 {
		return t.invokeChecked(ctx, req, called, answer)
	}
	msg, finish, err := answer(ctx, req, called)
	if err != nil {
		out.End(agents.EndCut)
		return t.brokenOff(ctx, err, called)
	}
	end := run.Signal{Kind: run.StreamEnd, Message: &msg, Finish: finish, Called: called.events}
	t.endCall(ctx, called, &end, out)
	return end
}

// speaker is who is called in each turn, in a word for the log.
func (t *Caller) speaker() string {
	if t.Agent.Now().Behavior != nil {
		return "behavior"
	}
	return "model"
}

// decided asks the behaviour. Once it has answered, or is no longer waited for, its
// turn is over, also for what it has started and left behind.
func (t *Caller) decided(ctx context.Context, req llm.Request, called *meter, out *stream.Writer) (llm.Message, llm.Finish, error) {
	ctx, over := context.WithCancelCause(ctx)
	defer over(errTurnOver)
	turn := agents.Turn{
		Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID,
		System: req.System, Messages: req.Messages, Tools: req.Tools, Schema: req.Schema,
	}.Asking(t.asking(ctx, called, out))
	if left := t.Journal.State().Run; left != nil {
		turn.Trigger = left.Trigger
	}
	a, err := t.Profile.Behavior.Decide(ctx, turn)
	if err != nil {
		return llm.Message{}, "", fmt.Errorf("behavior: Decide: %w", err)
	}
	mute := a.Message.Empty() && len(a.Message.Calls()) == 0 && a.Finish != llm.FinishContentFilter
	if mute && turn.Trigger != run.ByHeartbeat {
		return llm.Message{}, "", errSaysNothing
	}
	return a.Message, cmp.Or(a.Finish, llm.FinishStop), nil
}

// asking lets a behaviour ask the models during its turn, once at a time.
func (t *Caller) asking(turn context.Context, called *meter, out *stream.Writer) func(context.Context, llm.Request, bool) (agents.Answer, error) {
	slot := make(chan struct{}, 1)
	return func(ctx context.Context, req llm.Request, shown bool) (a agents.Answer, err error) {
		if turn.Err() != nil {
			return agents.Answer{}, context.Cause(turn)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer context.AfterFunc(turn, func() { cancel(context.Cause(turn)) })()
		defer cancel(nil)
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-ctx.Done():
			return agents.Answer{}, context.Cause(ctx)
		}
		t.tag(&req)
		if shown && len(req.Schema) == 0 {
			a.Message, a.Finish, err = t.aloud(ctx, req, called, out)
		} else {
			a.Message, a.Finish, err = t.collect(ctx, req, called)
		}
		return a, err
	}
}

// aloud collects an answer of the model that is streamed as it comes.
func (t *Caller) aloud(ctx context.Context, req llm.Request, called *meter, out *stream.Writer) (llm.Message, llm.Finish, error) {
	answer := llm.Builder{}
	err := t.converse(ctx, req, called, func(delta llm.Delta) {
		answer.Add(delta)
		t.speak(delta, out)
	})
	if err != nil {
		return llm.Message{}, "", err
	}
	return spoken(&answer, called)
}
