package inflight

import (
	"fmt"
)

// Room is how large the payload of a message of the run may be: its headers carry the trace and
// the session.
func (t *Run) Room() int { return t.Agent.Parts.Room() - t.Trace.Size() - len(t.Key) }

// Fits says why a payload of size bytes is too large for a message of the run; nil when it is not.
func (t *Run) Fits(size int) error {
	if room := t.Room(); size > room {
		return fmt.Errorf("this is too large to be sent: it takes %d bytes of a message, which may have %d; say it in fewer words, or keep it elsewhere and say where", size, room)
	}
	return nil
}
