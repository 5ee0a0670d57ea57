package config

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

const (
	scalar   = yaml.ScalarNode
	mapping  = yaml.MappingNode
	sequence = yaml.SequenceNode
)

const (
	nullTag = "!!null"
	intTag  = "!!int"
)

// A node is a YAML value with its place. Aliases and merge keys are followed,
// variables are replaced.
type node struct {
	kind   yaml.Kind // scalar, mapping or sequence
	tag    string    // of a scalar
	style  yaml.Style
	value  string  // of a scalar
	source string  // of a scalar: as it is written in the file
	fields []field // of a mapping
	items  []*node // of a sequence
	at     place
	broken bool // its problem is reported already
	filled bool // variables are replaced in it
}

type field struct {
	key, value *node
}

// yaml returns a scalar as the YAML decoder wants it.
func (n *node) yaml() *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: n.tag, Style: n.style, Value: n.value}
}

// unquoted returns a scalar as it would be without its quotes.
func (n *node) unquoted() *node {
	plain := *n
	plain.tag, plain.style = "", 0
	return &plain
}

func (n *node) resolvedTag() string { return n.yaml().ShortTag() }

func (n *node) null() bool { return n.kind == scalar && n.resolvedTag() == nullTag }

// quote returns a scalar as it is written, so that what a variable holds never
// shows.
func (n *node) quote() string {
	const most = 60
	if runes := []rune(n.source); len(runes) > most {
		return fmt.Sprintf("%q", string(runes[:most])+"…")
	}
	return fmt.Sprintf("%q", n.source)
}

// describe says what kind of value n is, and not which.
func (n *node) describe() string {
	switch {
	case n.kind == mapping:
		return "a mapping"
	case n.kind == sequence:
		return "a list"
	case n.null():
		return "nothing"
	default:
		return "a single value"
	}
}

// get returns the field of that name of a mapping, or nil.
func (n *node) get(name string) *field {
	for i := range n.fields {
		if n.fields[i].key.value == name {
			return &n.fields[i]
		}
	}
	return nil
}
