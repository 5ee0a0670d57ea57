package yamldoc

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	maxDepth   = 100
	maxAliased = 100_000 // nodes that aliases bring in: "billions of laughs" stop here
)

// A builder makes the tree of one file.
type builder struct {
	*Problems
	expander
	file    string
	open    map[*yaml.Node]bool // anchors that are being followed
	aliased int
	stopped bool // a bound was passed, and reported
	literal bool // variables are left as they are
	keep    [][]string
	path    []string // the keys that lead to what is built
}

func (b *builder) tree(document *yaml.Node) *Node {
	b.open = make(map[*yaml.Node]bool)
	root := b.build(document.Content[0], 0, !b.literal)
	if b.stopped {
		return nil
	}
	return root
}

// build makes the node of y; with expand, variables in it are replaced.
func (b *builder) build(y *yaml.Node, depth int, expand bool) *Node {
	n := &Node{Kind: y.Kind, tag: y.Tag, style: y.Style, Value: y.Value, Source: y.Value, At: b.place(y)}
	if !b.within(y, depth) {
		n.Kind, n.Broken = Scalar, true
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return b.follow(y, depth, expand)
	case yaml.SequenceNode:
		for _, item := range y.Content {
			n.Items = append(n.Items, b.build(item, depth+1, expand))
		}
	case yaml.MappingNode:
		b.mapping(n, y, depth, expand)
	default:
		if expand {
			b.expandInto(n)
		}
	}
	return n
}

func (b *builder) place(y *yaml.Node) Place { return Place{b.file, y.Line, y.Column} }

func (b *builder) stop(y *yaml.Node, format string, args ...any) {
	if !b.stopped {
		b.Add(b.place(y), format, args...)
	}
	b.stopped = true
}

// within reports whether the tree is still of a size that a person meant.
func (b *builder) within(y *yaml.Node, depth int) bool {
	if len(b.open) > 0 {
		b.aliased++
	}
	if depth > maxDepth {
		b.stop(y, "more than %d levels inside each other", maxDepth)
	}
	if b.aliased > maxAliased {
		b.stop(y, "aliases bring in more than %d values", maxAliased)
	}
	return !b.stopped
}

func (b *builder) follow(y *yaml.Node, depth int, expand bool) *Node {
	if b.open[y.Alias] {
		b.stop(y, "the anchor of this alias holds the alias itself")
		return &Node{Kind: Scalar, Broken: true, At: b.place(y)}
	}
	b.open[y.Alias] = true
	defer delete(b.open, y.Alias)
	return b.build(y.Alias, depth+1, expand)
}

// mapping fills in the fields of n: first its own, then what merge keys add.
func (b *builder) mapping(n *Node, y *yaml.Node, depth int, expand bool) {
	seen := make(map[string]*yaml.Node)
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			b.Add(b.place(key), "want a plain word as a key")
			b.build(value, depth+1, expand) // for its problems alone
		case first != nil:
			b.Add(b.place(key), "key %q is there twice, first in line %d; keep one", key.Value, first.Line)
			b.build(value, depth+1, expand)
		case key.Tag == "!!merge":
			seen[key.Value] = key
			merges = append(merges, value)
		default:
			seen[key.Value] = key
			k := &Node{Kind: Scalar, tag: "!!str", Value: key.Value, Source: key.Value, At: b.place(key)}
			b.path = append(b.path, key.Value)
			n.Fields = append(n.Fields, Field{k, b.build(value, depth+1, expand && key.Value != "prompt" && !b.kept())})
			b.path = b.path[:len(b.path)-1]
		}
	}
	for _, m := range merges {
		b.mergeInto(n, m, depth, expand)
	}
}

// kept reports whether variables below the path are left as they are.
func (b *builder) kept() bool {
	return slices.ContainsFunc(b.keep, func(pattern []string) bool {
		return slices.EqualFunc(pattern, b.path, func(want, key string) bool { return want == "*" || want == key })
	})
}

// mergeInto adds the fields of a `<<:` value that n does not have itself.
func (b *builder) mergeInto(n *Node, y *yaml.Node, depth int, expand bool) {
	value := b.build(y, depth+1, expand)
	values := []*Node{value}
	if value.Kind == Sequence {
		values = value.Items
	}
	names := make(map[string]bool)
	for _, f := range n.Fields {
		names[f.Key.Value] = true
	}
	for _, v := range values {
		if v.Kind != Mapping && !v.Broken {
			b.Add(b.place(y), "want a mapping after <<, got %s", v.Describe())
		}
		for _, f := range v.Fields {
			if !names[f.Key.Value] {
				names[f.Key.Value] = true
				n.Fields = append(n.Fields, f)
			}
		}
	}
}

// expandInto replaces the variables of a scalar. What had no quotes is resolved
// again, so that it may become a number.
func (b *builder) expandInto(n *Node) {
	if !strings.Contains(n.Value, "${") {
		return
	}
	value, err := b.expand(n.Value)
	for _, fault := range Each(err) {
		b.Add(n.At, "%v", fault)
		n.Broken = true
	}
	if n.Broken {
		return
	}
	n.Value, n.filled = value, true
	if n.style == 0 {
		n.tag = ""
	}
}
