package agents

import (
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/hooks"
	"agenthost/llm"
)

// What a hook may change at the points where the host goes by it. What cannot be
// read is found here, where it is known whose it is.
var (
	changeableAnswer = hooks.Changeable{"message": readable[llm.Message]}
	changeableCall   = hooks.Changeable{"args": readable[map[string]json.RawMessage]}
	changeableResult = hooks.Changeable{"ok": readable[bool], "result": readable[string]}
)

// changeableRequest is what a hook may change of a call of the model.
func (t *runner) changeableRequest() hooks.Changeable {
	c := hooks.Changeable{
		"messages": func(value json.RawMessage) error {
			_, err := readMessages(value)
			return err
		},
		"tools": func(value json.RawMessage) error { return json.Unmarshal(value, new([]llm.ToolDef)) }, // null: none
	}
	if t.p.models != nil {
		c["model"] = func(value json.RawMessage) error {
			_, err := t.p.chosen(value)
			return err
		}
	}
	return c
}

// readable is the check of a value that is to be a T. null, which encoding/json
// takes for anything, is none.
func readable[T any](value json.RawMessage) error {
	var v *T
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if v == nil {
		return errors.New("null: leave the argument out to leave it as it is")
	}
	return nil
}

// readMessages reads what is to be shown to a model.
func readMessages(value json.RawMessage) ([]llm.Message, error) {
	var messages []llm.Message
	if err := json.Unmarshal(value, &messages); err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, errors.New("no messages: want one at least")
	}
	for i, m := range messages {
		if m.Role != llm.User && m.Role != llm.Assistant && m.Role != llm.Tool {
			return nil, fmt.Errorf("message %d has the role %q: want user, assistant or tool", i, m.Role)
		}
	}
	return messages, nil
}

// chosen is the chain of the models that a hook names, one or a list.
func (p *profile) chosen(value json.RawMessage) (*llm.Chain, error) {
	var names []string
	if json.Unmarshal(value, &names) != nil {
		var one string
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, errors.New("want the name of a model, or a list of names")
		}
		names = []string{one}
	}
	if len(names) == 0 {
		return nil, errors.New("no model: want the name of one, or a list of names")
	}
	return p.models(names)
}
