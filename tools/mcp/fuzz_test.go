package mcp_test

import (
	"encoding/json"
	"testing"

	"agenthost/tools/mcp"
)

// FuzzWithoutComplaints compares what is left out of an object with what
// encoding/json reads of it.
func FuzzWithoutComplaints(f *testing.F) {
	for _, text := range []string{
		complaint, "[" + complaint + "]", `{}`, `{"id":3}`, `{"ID":3}`, `{"id":3,"id":null}`, `{"i\u0064":"a"}`, `{"id":null,"method":"x"}`,
		`{"a":{"id":1},"b":["}",{"id":2}],"id":[1]}`, `{"":"\\","id":-1}`, `{"id`, `[`, `{"a":"\`, `]}`, `{,}`, ` {"id" : null } `,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		left := mcp.WithoutComplaints([]byte(text), func([]byte) {})
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil || text[0] != '{' {
			return // it is enough that it came to an end
		}
		_, asks := fields["method"]
		var id any
		if err := json.Unmarshal(fields["id"], &id); err != nil {
			id = nil
		}
		switch id.(type) {
		case string, float64:
			asks = true
		}
		if asks != (string(left) == text) || !asks != (left == nil) {
			t.Errorf("of %s is left: %s", text, left)
		}
	})
}
