package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/tools"
)

func askHumanTool() tools.Tool {
	return tools.Tool{
		Name:        "ask_human",
		Description: "Asks a person and waits for the answer, for hours if need be.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["question"],"properties":{
			"question":{"type":"string","minLength":1},
			"options":{"type":"array","items":{"type":"string","minLength":1},"description":"the answers to choose from; any text when left out"},
			"default":{"type":"string","description":"the answer when nobody gives one in time"},
			"timeout":{"type":"string","description":"how long to wait, such as 10m or 2h"}}}`),
		ReadOnly: true,
		Rerun:    true,
		Asks:     true,
		Run:      decoded(askHuman),
	}
}

type question struct {
	Question string
	Options  []string
	Default  string
	Timeout  span
}

func askHuman(_ context.Context, _ tools.Call, q question) (tools.Result, error) {
	if strings.TrimSpace(q.Question) == "" {
		return tools.Result{}, errors.New("ask a person: no question")
	}
	if q.Default != "" && len(q.Options) > 0 && !slices.Contains(q.Options, q.Default) {
		return tools.Result{}, fmt.Errorf("ask a person: the default %q is not among the options", q.Default)
	}
	return tools.Result{Wait: &tools.Wait{
		Question: true,
		Prompt:   q.Question,
		Options:  q.Options,
		Default:  q.Default,
		Timeout:  time.Duration(q.Timeout),
	}}, nil
}

// delegateTool counts as read-only: who may ask whom is configured, and what
// the other agent then does is for its own policy to judge.
func delegateTool() tools.Tool {
	return tools.Tool{
		Name:        "delegate",
		Description: "Hands a task to another agent and waits for its result. The other agent sees only the task and the context.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["to","task"],"properties":{
			"to":{"type":"string","minLength":1,"description":"the other agent's id"},
			"task":{"type":"string","minLength":1},
			"context":{"type":"object","description":"what the other agent has to know"},
			"timeout":{"type":"string","description":"how long to wait, such as 10m or 2h"}}}`),
		ReadOnly: true,
		Rerun:    true,
		Run:      decoded(delegate),
	}
}

type task struct {
	To, Task string
	Context  json.RawMessage
	Timeout  span
}

func delegate(_ context.Context, _ tools.Call, t task) (tools.Result, error) {
	if t.To == "" {
		return tools.Result{}, errors.New("delegate: no agent to delegate to")
	}
	if strings.TrimSpace(t.Task) == "" {
		return tools.Result{}, fmt.Errorf("delegate to %q: no task", t.To)
	}
	return tools.Result{Wait: &tools.Wait{
		To:      t.To,
		Prompt:  t.Task,
		Context: t.Context,
		Timeout: time.Duration(t.Timeout),
	}}, nil
}
