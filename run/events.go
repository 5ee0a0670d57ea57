package run

import "sync"

// eventArrays are those of commits that are stored: an Event is large, and most
// of what a run allocates. A plain answer fits, and a second attempt of it. They
// are empty: what is made in them sets only what it has.
var eventArrays = sync.Pool{New: func() any { return new([8]Event) }}

func newEvents() []Event { return eventArrays.Get().(*[8]Event)[:0] }

// Recycle takes back the Events of a Commit, once it has been performed. They must
// not be used afterwards.
func Recycle(events []Event) {
	if cap(events) != len([8]Event{}) { // it has grown
		return
	}
	array := (*[8]Event)(events[:cap(events)])
	clear(array[:len(events)])
	eventArrays.Put(array)
}
