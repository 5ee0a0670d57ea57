package answers

import (
	"testing"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// Only what a host has signed, of a person at a door, gives a chat to an operator.
func TestOperatorOrder(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*message.Item){
		"by an operator": func(*message.Item) {},
		"unsigned":       func(it *message.Item) { it.Signed = false },
		"by no door":     func(it *message.Item) { it.Origin.Route.Door = "" },
		"a task":         func(it *message.Item) { it.Origin.Route.Kind = bus.RouteDelegate },
		"a message":      func(it *message.Item) { it.Origin = said("x").Origin },
	} {
		it := routed(bus.Route{From: "cli", Door: bus.DoorCLI, CorrelationID: "x." + ask.TakeOverToken})
		change(it)
		if got := OperatorOrder(it); (got == ask.TakeOverToken) != (name == "by an operator") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
