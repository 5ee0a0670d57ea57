package gemini

import (
	"bytes"
	"encoding/json"
)

// fitting is a schema without what the API refuses: the name of its dialect, of
// which the API knows one only, and what stands beside a $ref, which it would
// put the definition in the place of. A schema that is no JSON is left to fail.
func fitting(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte(`"$schema"`)) && !bytes.Contains(schema, []byte(`"$ref"`)) {
		return schema
	}
	var node any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&node) != nil {
		return schema
	}
	fit(node)
	fitted, err := json.Marshal(node)
	if err != nil {
		return schema
	}
	return fitted
}

func fit(node any) {
	switch n := node.(type) {
	case []any:
		for _, inner := range n {
			fit(inner)
		}
	case map[string]any:
		if _, named := n["$schema"].(string); named { // else it is a property of that name
			delete(n, "$schema")
		}
		_, refers := n["$ref"].(string)
		for key, inner := range n {
			if refers && !besideRef(key) {
				delete(n, key)
				continue
			}
			fit(inner)
		}
	}
}

func besideRef(key string) bool {
	switch key {
	case "$ref", "$defs", "definitions", "description", "default":
		return true
	}
	return false
}
