package scripted

import (
	"encoding/json"

	"agenthost/internal/yamldoc"
	"agenthost/llm"
)

type toolCall struct {
	Name string    `yaml:"name"`
	ID   string    `yaml:"id"`
	Args arguments `yaml:"args"`
}

func (c *toolCall) delta(i int, s situation) *llm.CallDelta {
	d := llm.CallDelta{Index: i, ID: c.ID, Name: c.Name, Args: c.Args.expanded(s)}
	if d.ID == "" {
		d.ID = s.newID(i)
	}
	return &d
}

// Arguments are a YAML mapping, or a string that is sent as it is.
type arguments struct {
	raw    string
	values map[string]any
}

func (a *arguments) UnmarshalYAML(n *yamldoc.Raw) error {
	if n.Kind == yamldoc.Scalar {
		return n.Decode(&a.raw)
	}
	if err := n.Decode(&a.values); err != nil {
		return err
	}
	if _, err := json.Marshal(a.values); err != nil { // a key that is no string, a number that is none
		return yamldoc.Fault(n, "arguments are not JSON: %v", err)
	}
	return nil
}

func (a *arguments) expanded(s situation) string {
	if a.values == nil {
		return s.expand(a.raw)
	}
	b, _ := json.Marshal(expandAll(a.values, s)) // it could be marshalled when it was parsed
	return string(b)
}

func expandAll(v any, s situation) any {
	switch v := v.(type) {
	case string:
		return s.expand(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = expandAll(e, s)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = expandAll(e, s)
		}
		return l
	}
	return v
}
