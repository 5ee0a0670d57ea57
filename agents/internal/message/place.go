package message

// A Place says who has an input of a queue.
type Place uint8

// The places of an input.
const (
	Held     Place = iota // its message is unacknowledged
	Repeated              // the same, and the log has its id: at its turn it is answered again, not run
	Spilled               // its message is unacknowledged, and it is to go to the log
	Spilling              // it is on its way to the log
	Logged                // the log has it
	Places                // how many there are
)
