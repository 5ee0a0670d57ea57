package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"agenthost/llm"
	"agenthost/run"
)

// A Turn is what a model would be called with. Its slices belong to the
// session: make new ones to ask with others.
type Turn struct {
	Agent   string
	Session string // its key
	Run     string
	Trigger run.Trigger

	System   string
	Messages []llm.Message // of the session, oldest first; long ones may be shortened
	Tools    []llm.ToolDef // that the agent has
	Schema   json.RawMessage

	answer func(ctx context.Context, req llm.Request, shown bool) (Answer, error)
}

// Text is what the user said last.
func (t Turn) Text() string { return t.request().LastText() }

// Results are what the tools of the last answer said, in the order in which it
// asked for them. There are none in the first turn of a run.
func (t Turn) Results() []llm.Part {
	var results []llm.Part
	for _, m := range slices.Backward(t.Messages) {
		if m.Role != llm.Tool {
			break
		}
		results = append(slices.Clone(m.Parts), results...)
	}
	return results
}

// Asking is t with ask to answer Ask, and the Decide of Base: the host gives it the models
// of the agent, a test what it likes. shown tells that the person may see the answer come.
func (t Turn) Asking(ask func(ctx context.Context, req llm.Request, shown bool) (Answer, error)) Turn {
	t.answer = ask
	return t
}

// Ask has the models of the agent answer this turn, as it is by now. Nobody
// sees the answer unless Decide returns it. What it costs counts in the budgets
// of the agent and is in the log.
func (t Turn) Ask(ctx context.Context) (Answer, error) { return t.ask(ctx, false) }

var errNoRun = errors.New("no model: the turn is not of a run")

func (t Turn) ask(ctx context.Context, shown bool) (Answer, error) {
	if t.answer == nil {
		return Answer{}, errNoRun
	}
	return t.answer(ctx, t.request(), shown)
}

func (t Turn) request() llm.Request {
	return llm.Request{System: t.System, Messages: t.Messages, Tools: t.Tools, Schema: t.Schema}
}

// An Answer is what an agent says or does next. One with calls goes on when
// the tools have answered; one without ends the run.
type Answer struct {
	Message llm.Message
	Finish  llm.Finish // empty: as the message tells
}

// Say is an answer in words.
func Say(text string) Answer {
	return Answer{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}}
}

// Use is an answer that asks for a tool. args becomes its JSON arguments; nil:
// none. Approvals and limits hold for it as for a call of a model.
func Use(tool string, args any) Answer { return Answer{}.Use(tool, args) }

// Text is what the answer says.
func (a Answer) Text() string { return a.Message.Text() }

// Use is a with one more call.
func (a Answer) Use(tool string, args any) Answer {
	p := llm.Part{Type: llm.ToolCall, Name: tool, Args: json.RawMessage("{}")}
	if args != nil {
		data, err := json.Marshal(args)
		if p.Args = data; err != nil { // the call is answered with that, and nothing runs
			p.Text, p.Error = err.Error(), true
		}
	}
	a.Message.Role = llm.Assistant
	a.Message.Parts = append(slices.Clip(a.Message.Parts), p)
	return a
}
