package hookvalue

import (
	"encoding/json"

	"agenthost/hooks"
)

// EncodeArgs are values as arguments of a hook.
func EncodeArgs(values map[string]any) (hooks.Args, error) {
	args := make(hooks.Args, len(values))
	for name, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		args[name] = data
	}
	return args, nil
}

// Quoted is a string as an argument of a hook.
func Quoted(s string) json.RawMessage {
	data, _ := json.Marshal(s) // a string always marshals
	return data
}
