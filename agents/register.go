package agents

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// A Factory makes the behaviour of one agent, once in the life of its host.
type Factory func(Env) (Behavior, error)

// An Env is where a behaviour is at work.
type Env struct {
	Config Config     // of the agent
	NC     *nats.Conn // of the host; not to be closed
	Log    zerolog.Logger
}

var registry = struct {
	mu        sync.Mutex
	factories map[string]Factory
}{factories: map[string]Factory{}}

// Register makes a behaviour known under a name, for `behavior:` in the
// settings of an agent. It is for the start of a program, before it runs a
// host; an empty name, no factory, or a name twice is a mistake in the program
// and panics.
func Register(name string, make Factory) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	switch {
	case name == "":
		panic("agents: Register of a behavior without a name")
	case make == nil:
		panic(fmt.Sprintf("agents: Register of behavior %q without a factory", name))
	case registry.factories[name] != nil:
		panic(fmt.Sprintf("agents: Register called twice for behavior %q", name))
	}
	registry.factories[name] = make
}

// Registered is what Register was given under name, nil when there is nothing.
func Registered(name string) Factory {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.factories[name]
}

// RegisteredNames are the names that have been registered, sorted.
func RegisteredNames() []string {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return slices.Sorted(maps.Keys(registry.factories))
}
