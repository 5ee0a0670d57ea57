package modelcall

import (
	"encoding/json"

	"agenthost/agents/internal/hookvalue"
	"agenthost/hooks"
)

// changeableRequest is what a hook may change of a call of the model.
func (t *Caller) changeableRequest() hooks.Changeable {
	c := hooks.Changeable{
		"messages": func(value json.RawMessage) error {
			_, err := hookvalue.Messages(value)
			return err
		},
		"tools": hookvalue.Tools,
	}
	if t.Profile.Models != nil {
		c["model"] = func(value json.RawMessage) error {
			_, _, err := t.Profile.Chosen(value)
			return err
		}
	}
	return c
}

// changeableAnswer is what a hook may change of an answer. What cannot be read is found here,
// where it is known whose it is.
var changeableAnswer = hooks.Changeable{"message": func(value json.RawMessage) error {
	_, err := hookvalue.Message(value)
	return err
}}
