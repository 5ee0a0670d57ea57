package agents

import (
	"encoding/json"
	"errors"

	"agenthost/agents/internal/hookvalue"
	"agenthost/hooks"
	"agenthost/llm"
)

// What a hook may change at the points where the host goes by it. What cannot be
// read is found here, where it is known whose it is.
var (
	changeableAnswer = hooks.Changeable{"message": func(value json.RawMessage) error {
		_, err := hookvalue.Message(value)
		return err
	}}
	changeableCall   = hooks.Changeable{"args": hookvalue.Check[map[string]json.RawMessage]}
	changeableResult = hooks.Changeable{"ok": hookvalue.Check[bool], "result": hookvalue.Check[string]}
)

// changeableRequest is what a hook may change of a call of the model.
func (t *runner) changeableRequest() hooks.Changeable {
	c := hooks.Changeable{
		"messages": func(value json.RawMessage) error {
			_, err := hookvalue.Messages(value)
			return err
		},
		"tools": hookvalue.Tools,
	}
	if t.p.models != nil {
		c["model"] = func(value json.RawMessage) error {
			_, _, err := t.p.chosen(value)
			return err
		}
	}
	return c
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
