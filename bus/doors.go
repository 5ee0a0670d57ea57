package bus

import "slices"

// The channels by which programs reach agents with protocols of their own. Every
// agent is bound to them unless its configuration names fewer.
const (
	DoorA2A    = "a2a"
	DoorACP    = "acp"
	DoorMCP    = "mcp"
	DoorNATS   = "nats"
	DoorOpenAI = "openai"
)

var doors = []string{DoorA2A, DoorACP, DoorMCP, DoorNATS, DoorOpenAI}

// Doors are all of them.
func Doors() []string { return slices.Clone(doors) }

// IsDoor reports whether a channel is one of them. What comes by it names its agent,
// and its conversation is the session whoever sends it.
func IsDoor(channel string) bool { return slices.Contains(doors, channel) }
