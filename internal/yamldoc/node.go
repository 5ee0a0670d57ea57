package yamldoc

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// The kinds of a Node.
const (
	Scalar   = yaml.ScalarNode
	Mapping  = yaml.MappingNode
	Sequence = yaml.SequenceNode
)

const (
	nullTag = "!!null"
	intTag  = "!!int"
)

// A Node is a YAML value with its place. Aliases and merge keys are followed,
// variables are replaced.
type Node struct {
	Kind   yaml.Kind // Scalar, Mapping or Sequence
	Value  string    // of a scalar
	Source string    // of a scalar: as it is written in the file
	Fields []Field   // of a mapping
	Items  []*Node   // of a sequence
	At     Place
	Broken bool // its problem is reported already

	tag    string // of a scalar
	style  yaml.Style
	filled bool // variables are replaced in it
}

// A Field is a key of a mapping and its value.
type Field struct {
	Key, Value *Node
}

// yaml returns a scalar as the YAML decoder wants it.
func (n *Node) yaml() *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: n.tag, Style: n.style, Value: n.Value}
}

// unquoted returns a scalar as it would be without its quotes.
func (n *Node) unquoted() *Node {
	plain := *n
	plain.tag, plain.style = "", 0
	return &plain
}

func (n *Node) resolvedTag() string { return n.yaml().ShortTag() }

// Null reports whether n is a scalar without a value.
func (n *Node) Null() bool { return n.Kind == Scalar && n.resolvedTag() == nullTag }

// Quote returns a scalar as it is written, so that what a variable holds never
// shows.
func (n *Node) Quote() string {
	const most = 60
	if runes := []rune(n.Source); len(runes) > most {
		return fmt.Sprintf("%q", string(runes[:most])+"…")
	}
	return fmt.Sprintf("%q", n.Source)
}

// Describe says what kind of value n is, and not which.
func (n *Node) Describe() string {
	switch {
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == Sequence:
		return "a list"
	case n.Null():
		return "nothing"
	default:
		return "a single value"
	}
}

// Get returns the field of that name of a mapping, or nil.
func (n *Node) Get(name string) *Field {
	for i := range n.Fields {
		if n.Fields[i].Key.Value == name {
			return &n.Fields[i]
		}
	}
	return nil
}

// Inherit adds the fields that a mapping does not have; in mappings that both
// have, likewise, but for the keys whose value is one thing, not a set of them.
// The defaults themselves may be shared and stay as they are.
func (n *Node) Inherit(defaults []Field, whole []string) {
	for _, f := range defaults {
		own := n.Get(f.Key.Value)
		switch {
		case own == nil:
			n.Fields = append(n.Fields, f)
		case own.Value.Null() && !own.Value.Broken:
			own.Value = f.Value
		case own.Value.Kind == Mapping && f.Value.Kind == Mapping && !slices.Contains(whole, f.Key.Value):
			own.Value.Inherit(f.Value.Fields, whole)
		}
	}
}

// Without is a list without the word that f holds.
func (n *Node) Without(f *Field) *Node {
	if n.Kind != Sequence || f == nil {
		return n
	}
	list := *n
	list.Items = slices.DeleteFunc(slices.Clone(n.Items), func(item *Node) bool {
		return item.Kind == Scalar && item.Value == f.Value.Value
	})
	return &list
}

// Damaged reports whether something in n could not be read.
func (n *Node) Damaged() bool {
	return n.Broken || slices.ContainsFunc(n.Items, (*Node).Damaged) ||
		slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Key.Damaged() || f.Value.Damaged() })
}
