package config

// mergedBy says of the keys that several files may give how many levels down a
// name is still a new one: 1 for a model, 2 for an instance of a channel. Lists
// are appended.
var mergedBy = map[string]int{"models": 1, "mcp": 1, "services": 1, "plugins": 2}

var appended = map[string]bool{"agents": true, "hooks": true}

// merge adds the keys of one more file to the tree.
func (l *loader) merge(file *node) {
	if l.root == nil {
		l.root = &node{kind: mapping, at: file.at}
	}
	for _, f := range file.fields {
		l.mergeField(l.root, f, mergedBy[f.key.value], appended[f.key.value])
	}
}

func (l *loader) mergeField(into *node, f field, levels int, list bool) {
	old := into.get(f.key.value)
	switch {
	case old == nil:
		into.fields = append(into.fields, f)
	case f.value.null():
	case old.value.null():
		old.value = f.value
	case list && old.value.kind == sequence && f.value.kind == sequence:
		old.value.items = append(old.value.items, f.value.items...)
	case levels > 0 && old.value.kind == mapping && f.value.kind == mapping:
		for _, inner := range f.value.fields {
			l.mergeField(old.value, inner, levels-1, false)
		}
	default:
		l.add(f.key.at, "%q is in %s as well; keep one", f.key.value, old.key.at)
	}
}
