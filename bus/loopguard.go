package bus

import (
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// ChainHeader lists the agents through whose work a message came about, the
// first in front, with commas between them. Who publishes because of a message
// that has it passes it on: by it an agent does not set itself off.
const ChainHeader = "Agent-Chain"

// SetChain writes chain into h; an empty one writes nothing.
func SetChain(h nats.Header, chain []string) {
	if len(chain) > 0 {
		h[ChainHeader] = []string{strings.Join(chain, ",")}
	}
}

// ChainOf is the chain of a message: that of its header, and of what happened
// to an agent that agent itself.
func ChainOf(subject string, h nats.Header) []string {
	var chain []string
	for _, value := range h[ChainHeader] {
		for id := range strings.SplitSeq(value, ",") {
			if id = strings.TrimSpace(id); id != "" {
				chain = append(chain, id)
			}
		}
	}
	if rest, ok := strings.CutPrefix(subject, EventsPrefix); ok {
		if agent, _, _ := strings.Cut(rest, "."); !slices.Contains(chain, agent) {
			chain = append(chain, agent)
		}
	}
	return chain
}
