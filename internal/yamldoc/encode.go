package yamldoc

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// Encode writes mappings as one. What edit makes of a scalar stands in its place;
// keys are those that lead to it, text is false for a number. Truth values and
// nulls stay.
func Encode(edit func(keys []string, value string, text bool) string, mappings ...any) ([]byte, error) {
	var all yaml.Node
	for i, v := range mappings {
		var n yaml.Node
		if err := n.Encode(v); err != nil {
			return nil, fmt.Errorf("write YAML: %w", err)
		}
		if i == 0 {
			all = n
			continue
		}
		all.Content = append(all.Content, n.Content...)
	}
	editAll(&all, nil, edit)
	return yaml.Marshal(&all)
}

func editAll(n *yaml.Node, keys []string, edit func([]string, string, bool) string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			editAll(n.Content[i+1], append(keys, n.Content[i].Value), edit)
		}
	case yaml.ScalarNode:
		if n.Tag == "!!bool" || n.Tag == nullTag {
			return
		}
		if value := edit(keys, n.Value, n.Tag == "!!str"); value != n.Value {
			n.Value, n.Tag = value, "!!str"
		}
	default:
		for _, below := range n.Content {
			editAll(below, keys, edit)
		}
	}
}
