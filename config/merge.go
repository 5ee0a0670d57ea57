package config

import "agenthost/internal/yamldoc"

// mergedBy says of the keys that several files may give how many levels down a
// name is still a new one: 1 for a model, 2 for an instance of a channel. Lists
// are appended.
var mergedBy = map[string]int{"models": 1, "mcp": 1, "services": 1, "plugins": 2}

var appended = map[string]bool{"agents": true, "hooks": true}

// merge adds the keys of one more file to the tree.
func (l *loader) merge(file *yamldoc.Node) {
	if l.root == nil {
		l.root = &yamldoc.Node{Kind: yamldoc.Mapping, At: file.At}
	}
	for _, f := range file.Fields {
		l.mergeField(l.root, f, mergedBy[f.Key.Value], appended[f.Key.Value])
	}
}

func (l *loader) mergeField(into *yamldoc.Node, f yamldoc.Field, levels int, list bool) {
	old := into.Get(f.Key.Value)
	switch {
	case old == nil:
		into.Fields = append(into.Fields, f)
	case f.Value.Null():
	case old.Value.Null():
		old.Value = f.Value
	case list && old.Value.Kind == yamldoc.Sequence && f.Value.Kind == yamldoc.Sequence:
		old.Value.Items = append(old.Value.Items, f.Value.Items...)
	case levels > 0 && old.Value.Kind == yamldoc.Mapping && f.Value.Kind == yamldoc.Mapping:
		for _, inner := range f.Value.Fields {
			l.mergeField(old.Value, inner, levels-1, false)
		}
	default:
		l.Add(f.Key.At, "%q is in %s as well; keep one", f.Key.Value, old.Key.At)
	}
}
