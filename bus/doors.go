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

// DoorProbe is the channel of canaries, which hosts answer with the model echo. It leads to
// every agent that is no shadow, whatever its configuration says; a canary is signed.
const DoorProbe = "probe"

// CanaryWithin is the field of the meta data of a canary that says for how long, such as
// 10s, its sender waits.
const CanaryWithin = "within"

// Doors are those that a configuration may name.
func Doors() []string { return slices.Clone(doors) }

// IsDoor reports whether a channel is one of them. What comes by it names its agent,
// and its conversation is the session, regardless of the sender.
func IsDoor(channel string) bool { return channel == DoorProbe || slices.Contains(doors, channel) }
