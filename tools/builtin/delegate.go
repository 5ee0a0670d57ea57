package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/tools"
)

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
