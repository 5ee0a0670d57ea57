package behaviors

import (
	"context"
	"errors"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/llm"
	"agenthost/run"
)

// Received tells the behaviour of the messages that the run is to answer. It
// returns what ends the run at once, nil when nothing does.
func Received(ctx context.Context, t *inflight.Run, msg *llm.Message) *run.Signal {
	if t.Profile.Behavior == nil {
		return nil
	}
	last := t.Items[len(t.Items)-1]
	act, err := OnMessage(ctx, t, last, *msg)
	switch then := (&run.Signal{At: time.Now(), Run: t.ID}); {
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

// OnMessage asks what is to become of a message; an error is logged.
func OnMessage(ctx context.Context, t *inflight.Run, it *message.Item, said llm.Message) (agents.Action, error) {
	m := agents.Message{
		Agent: t.Agent.ID, Session: string(t.Key), Run: t.ID, Trigger: it.Origin.Trigger(),
		ID: it.Input.ID, Subject: it.Origin.Subject, Said: said,
	}
	if in := it.Origin.Inbound; in != nil {
		m.From, m.Name, m.Chat, m.Thread, m.Group = message.Sender(in), in.Name, in.Chat, in.Thread, in.Group
	} else {
		m.From = it.Origin.Route.From
	}
	act, err := shielded(ctx, t.Log(), func() (agents.Action, error) { return t.Profile.Behavior.OnMessage(ctx, m) })
	if err != nil {
		t.Log().Warn().Err(err).Str("run", t.ID).Msg("behavior failed in OnMessage")
	}
	return act, err
}
