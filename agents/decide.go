package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"agenthost/agents/internal/stream"
	"agenthost/llm"
	"agenthost/run"

	"github.com/rs/zerolog"
)

var (
	errSaysNothing = errors.New("behavior: Decide returned neither text nor calls")
	errTurnOver    = errors.New("the turn is over")
)

// decide has the behaviour say what comes next, in the place of a call of the
// model.
func (t *runner) decide(ctx context.Context, req llm.Request, called *meter, out *stream.Writer) run.Signal {
	answer := func(ctx context.Context, req llm.Request, called *meter) (llm.Message, llm.Finish, error) {
		return t.decided(ctx, req, called, out)
	}
	if len(req.Schema) > 0 {
		return t.invokeChecked(ctx, req, called, answer)
	}
	msg, finish, err := answer(ctx, req, called)
	if err != nil {
		out.End(EndCut)
		return t.brokenOff(ctx, err, called)
	}
	end := run.Signal{Kind: run.StreamEnd, Message: &msg, Finish: finish, Called: called.events}
	t.endCall(ctx, called, &end, out)
	return end
}

// speaker is who is called in each turn, in a word for the log.
func (r *Runtime) speaker() string {
	if r.now().behavior != nil {
		return "behavior"
	}
	return "model"
}

// decided asks the behaviour. When it has answered, or nobody waits for it any
// more, its turn is over, also for what it has started and left behind.
func (t *runner) decided(ctx context.Context, req llm.Request, called *meter, out *stream.Writer) (llm.Message, llm.Finish, error) {
	ctx, over := context.WithCancelCause(ctx)
	defer over(errTurnOver)
	turn := Turn{
		Agent: t.c.r.id, Session: string(t.c.key), Run: t.id,
		System: req.System, Messages: req.Messages, Tools: req.Tools, Schema: req.Schema,
		answer: t.asking(ctx, called, out),
	}
	if left := t.journal.State().Run; left != nil {
		turn.Trigger = left.Trigger
	}
	a, err := t.p.behavior.Decide(ctx, turn)
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
func (t *runner) asking(turn context.Context, called *meter, out *stream.Writer) func(context.Context, llm.Request, bool) (Answer, error) {
	slot := make(chan struct{}, 1)
	return func(ctx context.Context, req llm.Request, shown bool) (a Answer, err error) {
		if turn.Err() != nil {
			return Answer{}, context.Cause(turn)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer context.AfterFunc(turn, func() { cancel(context.Cause(turn)) })()
		defer cancel(nil)
		select {
		case slot <- struct{}{}:
			defer func() { <-slot }()
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
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
func (t *runner) aloud(ctx context.Context, req llm.Request, called *meter, out *stream.Writer) (llm.Message, llm.Finish, error) {
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

// received tells the behaviour of the messages that the run is to answer. It
// returns what ends the run at once, nil when nothing does.
func (t *runner) received(ctx context.Context, msg *llm.Message) *run.Signal {
	if t.p.behavior == nil {
		return nil
	}
	last := t.items[len(t.items)-1]
	act, err := t.onMessage(ctx, last, *msg)
	switch then := (&run.Signal{At: time.Now(), Run: t.id}); {
	case err != nil:
		then.Kind, then.Error = run.Fault, &run.Error{Code: llm.AsError(err).Code}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			then.Error.Code = llm.CodeRunTimeout
		}
		return then
	case act.Answer != "":
		then.Kind, then.Message = run.StreamEnd, &llm.Message{
			Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: act.Answer}},
		}
		return then
	case act.Drop != "":
		then.Kind, then.Reason, then.By = run.Abort, act.Drop, "behavior"
		return then
	case len(act.Change.Parts) > 0:
		*msg = act.Change
		msg.Role = llm.User
	}
	return nil
}

// onMessage asks what is to become of a message; an error is logged.
func (t *runner) onMessage(ctx context.Context, it *item, said llm.Message) (Action, error) {
	m := Message{
		Agent: t.c.r.id, Session: string(t.c.key), Run: t.id, Trigger: it.origin.trigger(),
		ID: it.input.ID, Subject: it.origin.subject, Said: said,
	}
	if in := it.origin.inbound; in != nil {
		m.From, m.Name, m.Chat, m.Thread, m.Group = sender(in), in.Name, in.Chat, in.Thread, in.Group
	} else {
		m.From = it.origin.route.From
	}
	act, err := shielded(ctx, t.c.log(), func() (Action, error) { return t.p.behavior.OnMessage(ctx, m) })
	if err != nil {
		t.c.log().Warn().Err(err).Str("run", t.id).Msg("behavior failed in OnMessage")
	}
	return act, err
}

// shielded calls code of a behaviour: a panic of it becomes an error, and it is
// not waited for when ctx has ended.
func shielded[T any](ctx context.Context, log *zerolog.Logger, call func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() {
			if p := recover(); p != nil {
				log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic in a behavior")
				out.err = fmt.Errorf("panic: %v", p)
			}
			done <- out
		}()
		out.value, out.err = call()
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
