package config

import (
	"reflect"
	"slices"

	"agenthost/bus"
)

// LoadNATS is [Load] for who only wants to know where NATS is: whatever else is
// wrong with the configuration, or not set here, is passed over.
func LoadNATS(path string) (bus.Config, error) {
	l := open(path, Extensions{})
	if l.root == nil || l.lost {
		return bus.Config{}, l.err()
	}
	nats := &node{kind: mapping, at: l.root.at}
	if f := l.root.get("nats"); f != nil {
		if f.value.damaged() {
			return bus.Config{}, l.err()
		}
		nats.fields = []field{*f}
	}
	c := new(Config)
	k := &checker{decoder: newDecoder(&problems{files: l.files}), c: c}
	k.decode(nats, reflect.ValueOf(c).Elem(), "")
	k.checkNATS()
	if err := k.err(); err != nil {
		return bus.Config{}, err
	}
	k.setDefaults()
	c.resolvePaths(l.folder)
	return c.NATS, nil
}

// damaged reports whether something in n could not be read.
func (n *node) damaged() bool {
	return n.broken || slices.ContainsFunc(n.items, (*node).damaged) ||
		slices.ContainsFunc(n.fields, func(f field) bool { return f.key.damaged() || f.value.damaged() })
}
