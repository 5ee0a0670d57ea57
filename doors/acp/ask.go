package acp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"agenthost/bus"
	"agenthost/client"
)

// questions are what a turn asks the person at the editor.
type questions struct {
	turn *turn
	end  context.CancelCauseFunc // of the turn
	seen map[string]bool         // the ids of what was asked
	work *sync.WaitGroup
}

// ask asks what waits under an id, once, after what has to come before it.
func (q questions) ask(ctx context.Context, id string, after func(context.Context, client.Waiting)) {
	if q.seen[id] {
		return
	}
	q.seen[id] = true
	q.work.Go(func() {
		w, err := q.turn.agent.desk.Client().FindWaiting(ctx, id)
		if err != nil {
			return // it is answered already
		}
		if after != nil {
			after(ctx, w)
		}
		switch {
		case w.Kind == bus.KindApproval:
			err = q.approval(ctx, w)
		case len(w.Options) > 0:
			err = q.choice(ctx, w)
		case q.turn.agent.hasForms():
			err = q.form(ctx, w)
		default:
			q.turn.say(w.Prompt)
			q.end(errLeftOpen)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errInputEnded):
			q.turn.say(w.Prompt)
			q.end(errLeftOpen)
		case err != nil:
			q.turn.agent.opt.Log.Warn().Err(err).Str("id", id).Msg("ask the editor")
			q.turn.say(fmt.Sprintf("%s\n\n(%v)", w.Prompt, err))
		}
	})
}

// permissions are the answers to an approval. How far the last goes is the operator's to
// say, who has started this program.
var permissions = []option{
	{"once", "Allow", "allow_once"},
	{"session", "Allow for this session", "allow_always"},
	{"always", "Always allow", "allow_always"},
	{client.Deny, "Reject", "reject_once"},
}

func (q questions) approval(ctx context.Context, w client.Waiting) error {
	chosen, err := q.permission(ctx, w, permissions)
	switch {
	case err != nil || chosen == "":
		return err
	case chosen == client.Deny:
		return q.turn.exchange.Answer(ctx, w.ID, client.Deny)
	case chosen == "always":
		_, err := q.turn.agent.desk.Client().Answer(ctx, client.Answer{
			ID: w.ID, Text: client.Approve, Scope: chosen, By: q.turn.agent.opt.From, Door: bus.DoorCLI,
		}, 0)
		return err
	default:
		return q.turn.exchange.Answer(ctx, w.ID, client.Approve+" "+chosen)
	}
}

// choice asks for one of the options of a question.
func (q questions) choice(ctx context.Context, w client.Waiting) error {
	var options []option
	for i, text := range w.Options {
		options = append(options, option{strconv.Itoa(i), text, "allow_once"})
	}
	chosen, err := q.permission(ctx, w, options)
	if err != nil || chosen == "" {
		return err
	}
	i, _ := strconv.Atoi(chosen)
	return q.turn.exchange.Answer(ctx, w.ID, w.Options[i])
}

// permission shows options, and returns the id of the one that is chosen; empty: none,
// as the prompt is cancelled.
func (q questions) permission(ctx context.Context, w client.Waiting, options []option) (string, error) {
	var res permissionResponse
	err := q.turn.agent.conn.call(ctx, "session/request_permission", permissionRequest{
		SessionID: q.turn.id, Options: options,
		ToolCall: permissionCall{
			toolCall: toolCall{ID: callID(w.Run, w.Call), Title: w.Prompt, ToolKind: kindOf(w.Tool), Status: pending},
			Content:  made(q.whole(ctx, w)),
		},
	}, &res)
	if err != nil || res.Outcome.Outcome != "selected" {
		return "", err
	}
	for _, o := range options {
		if o.ID == res.Outcome.OptionID {
			return o.ID, nil
		}
	}
	return "", fmt.Errorf("the editor has chosen %q, which is no option", res.Outcome.OptionID)
}

// whole is the call with all its arguments.
func (q questions) whole(ctx context.Context, w client.Waiting) string {
	text, err := q.turn.agent.desk.Client().WholeCall(ctx, w)
	if err != nil {
		return w.Prompt
	}
	return text
}

// form asks for a text. Without one the question waits on, for the next prompt.
func (q questions) form(ctx context.Context, w client.Waiting) error {
	var res elicitationResponse
	err := q.turn.agent.conn.call(ctx, "elicitation/create", elicitationRequest{
		SessionID: q.turn.id, Mode: "form", Message: w.Prompt, Schema: map[string]any{
			"type": "object", "required": []string{"answer"},
			"properties": map[string]any{"answer": map[string]any{"type": "string", "title": "Answer"}},
		},
	}, &res)
	if err != nil {
		return err
	}
	if answer, ok := res.Content["answer"].(string); ok && res.Action == "accept" {
		return q.turn.exchange.Answer(ctx, w.ID, answer)
	}
	q.end(errLeftOpen)
	return nil
}
