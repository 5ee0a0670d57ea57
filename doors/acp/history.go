package acp

import (
	"context"
	"encoding/json"
	"errors"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/llm"
	"agenthost/run"
)

// load opens a session and shows the editor what was said in it.
func (a *agent) load(ctx context.Context, id string) (any, error) {
	sid, err := a.sid(id)
	if err != nil {
		return nil, err
	}
	h := history{update: func(u update) { a.update(id, u) }}
	for f, err := range a.desk.Client().Sessions().History(ctx, a.ID, sid, 1) {
		if errors.Is(err, client.ErrNoSession) {
			return nil, noSession(id)
		}
		if err != nil {
			return nil, err
		}
		h.show(f)
	}
	a.open(id)
	return struct{}{}, nil
}

// A history shows the events of a log as updates.
type history struct {
	update func(update)
}

func (h history) show(f client.Fact) {
	e := f.Event
	switch e.Type {
	case run.Started:
		if e.Trigger == run.ByMessage {
			h.inputs(e.Inputs)
		}
	case run.InputAdded:
		if e.Input != nil {
			h.inputs([]run.Input{*e.Input})
		}
	case run.MessageAdded:
		h.message(e.Message)
	case run.Replied:
		h.reply(e.Reply)
	default:
		if u, ok := toolUpdate(f); ok {
			h.update(u)
		}
	}
}

// inputs shows what a person has written.
func (h history) inputs(inputs []run.Input) {
	for _, input := range inputs {
		var in bus.Inbound
		if bus.ReadFields(input.Envelope, &in) != nil || in.Answers != "" {
			continue
		}
		if in.Text != "" && in.Text != "/stop" {
			h.update(update{Kind: userChunk, Content: textBlock(in.Text)})
		}
	}
}

// message shows what a model has thought, and what it has said before it called tools.
// What it said at the end is in the reply.
func (h history) message(m *llm.Message) {
	if m == nil || m.Role != llm.Assistant {
		return
	}
	calls := false
	for _, p := range m.Parts {
		calls = calls || p.Type == llm.ToolCall
	}
	for _, p := range m.Parts {
		switch {
		case p.Text == "":
		case p.Type == llm.Reasoning:
			h.update(update{Kind: thoughtChunk, Content: textBlock(p.Text)})
		case p.Type == llm.Text && calls:
			h.update(update{Kind: agentChunk, Content: textBlock(p.Text)})
		}
	}
}

// reply shows a reply; an approval is in the way of its tool call.
func (h history) reply(r *run.Reply) {
	var out bus.Outbound
	if r == nil || json.Unmarshal(r.Envelope, &out) != nil || out.Kind == bus.KindApproval || out.Text == "" {
		return
	}
	h.update(update{Kind: agentChunk, Content: textBlock(out.Text)})
}

// toolUpdate is what an event tells of a tool call.
func toolUpdate(f client.Fact) (update, bool) {
	e := f.Event
	call := toolCall{ID: callID(f.Of, e.Call)}
	switch e.Type {
	case run.ToolRequested:
		call.Title, call.ToolKind, call.Status, call.RawInput = e.Name, kindOf(e.Name), inProgress, e.Args
		return update{Kind: toolBegun, toolCall: call}, true
	case run.ApprovalAsked, run.QuestionAsked:
		call.Status = pending
		return update{Kind: toolChanged, toolCall: call}, e.For == ""
	case run.ApprovalAnswered, run.QuestionAnswered:
		call.Status = inProgress
		return update{Kind: toolChanged, toolCall: call}, e.For == ""
	case run.ToolFinished:
		call.Status = failed
		if e.OK {
			call.Status = completed
		}
		return update{Kind: toolChanged, toolCall: call, Content: made(e.Result)}, true
	}
	return update{}, false
}

// callID is a tool call's in its session: a provider may number them in each run.
func callID(run, call string) string { return run + ":" + call }
