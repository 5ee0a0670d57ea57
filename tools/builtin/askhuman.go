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
