package config

import (
	"reflect"

	"agenthost/bus"
	"agenthost/internal/yamldoc"
)

// LoadNATS is [Load] for who only wants to know where NATS is: whatever else is
// wrong with the configuration, or not set here, is passed over.
func LoadNATS(path string) (bus.Config, error) {
	l := open(path, Extensions{})
	if l.root == nil || l.lost {
		return bus.Config{}, l.Err()
	}
	nats := &yamldoc.Node{Kind: yamldoc.Mapping, At: l.root.At}
	if f := l.root.Get("nats"); f != nil {
		if f.Value.Damaged() {
			return bus.Config{}, l.Err()
		}
		nats.Fields = []yamldoc.Field{*f}
	}
	c := new(Config)
	k := &checker{Decoder: yamldoc.NewDecoder(&yamldoc.Problems{Files: l.Files}), c: c}
	k.Decode(nats, reflect.ValueOf(c).Elem(), "")
	k.checkNATS()
	if err := k.Err(); err != nil {
		return bus.Config{}, err
	}
	k.setDefaults()
	c.resolvePaths(l.folder)
	return c.NATS, nil
}
