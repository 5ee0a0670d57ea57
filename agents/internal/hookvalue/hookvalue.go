// Package hookvalue reads what hooks have put in the place of an argument.
package hookvalue

import (
	"encoding/json"
	"errors"
	"fmt"

	"agenthost/fastjson"
	"agenthost/llm"
)

// Check is the check of a value that is to be a T. It refuses null, which
// encoding/json accepts for every type, and what is nested too deep for a log.
func Check[T any](value json.RawMessage) error {
	var v *T
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if fastjson.TooDeep(value) {
		return fmt.Errorf("more than %d objects and arrays stand in each other", fastjson.Deepest)
	}
	if v == nil {
		return errors.New("null: leave the argument out to leave it as it is")
	}
	return nil
}

// Message reads one message. A part that does not say what it is, is a text
// if it has one; else it would be shown as one that says nothing, as would be a
// message without parts.
func Message(value json.RawMessage) (m llm.Message, err error) {
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

// Messages reads what is to be shown to a model.
func Messages(value json.RawMessage) ([]llm.Message, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(value, &values); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("no messages: want one at least")
	}
	messages := make([]llm.Message, len(values))
	for i, value := range values {
		m, err := Message(value)
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

// Tools is the check of what tools a model is to know of; null: none.
func Tools(value json.RawMessage) error {
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
