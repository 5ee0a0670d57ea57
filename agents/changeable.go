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
	changeableAnswer = hooks.Changeable{"message": func(value json.RawMessage) error {
		_, err := readMessage(value)
		return err
	}}
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
		"tools": readableTools,
	}
	if t.p.models != nil {
		c["model"] = func(value json.RawMessage) error {
			_, _, err := t.p.chosen(value)
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

// readMessage reads one message. A part that does not say what it is, is a text
// if it has one; else it would be shown as one that says nothing, as would be a
// message without parts.
func readMessage(value json.RawMessage) (m llm.Message, err error) {
	if err := json.Unmarshal(value, &m); err != nil {
		return m, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(value, &fields); err != nil {
		return m, err
	}
	if _, ok := fields["parts"]; !ok {
		return m, errors.New("no parts: what a message says is a list of them")
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type == "" && p.Text != "" {
			p.Type = llm.Text
		}
		switch p.Type {
		case llm.Text, llm.Reasoning, llm.ToolCall, llm.ToolResult, llm.MediaPart:
		default:
			return m, fmt.Errorf("part %d has the type %q: want text, reasoning, tool_call, tool_result or media", i, p.Type)
		}
	}
	return m, nil
}

// readMessages reads what is to be shown to a model.
func readMessages(value json.RawMessage) ([]llm.Message, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(value, &values); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("no messages: want one at least")
	}
	messages := make([]llm.Message, len(values))
	for i, value := range values {
		m, err := readMessage(value)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if m.Role != llm.User && m.Role != llm.Assistant && m.Role != llm.Tool {
			return nil, fmt.Errorf("message %d has the role %q: want user, assistant or tool", i, m.Role)
		}
		messages[i] = m
	}
	return messages, nil
}

// readableTools is the check of what tools a model is to know of; null: none.
func readableTools(value json.RawMessage) error {
	var defs []llm.ToolDef
	if err := json.Unmarshal(value, &defs); err != nil {
		return err
	}
	for i, def := range defs {
		if def.Name == "" {
			return fmt.Errorf("tool %d has no name", i)
		}
	}
	return nil
}

// chosen is the chain of the models that a hook names, one or a list, and their
// names.
func (p *profile) chosen(value json.RawMessage) (chain *llm.Chain, names []string, err error) {
	if json.Unmarshal(value, &names) != nil {
		var one string
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, nil, errors.New("want the name of a model, or a list of names")
		}
		names = []string{one}
	}
	if len(names) == 0 {
		return nil, nil, errors.New("no model: want the name of one, or a list of names")
	}
	chain, err = p.models(names)
	return chain, names, err
}
