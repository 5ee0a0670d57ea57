package mailbox

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/run"
)

// A Watch is the part of a queue that a run under way has to look at: what has come
// since it looked last, or all of it once more when what it would make of a message has
// changed. Guarded by the conversation. A nil watch is that of no run.
type Watch struct {
	all     bool
	arrived []*message.Item  // in the order of the queue
	open    []string         // the calls that waited for an answer when it looked last
	profile *profile.Profile // the settings of the agent then
}

// Add notes what has come.
func (w *Watch) Add(it *message.Item) {
	if w != nil && !w.all {
		w.arrived = append(w.arrived, it)
	}
}

// Again has all of the queue looked at.
func (w *Watch) Again() {
	if w != nil {
		w.all, w.arrived = true, nil
	}
}

// Take returns what of the queue to look at for a run, and takes it for looked at.
func (w *Watch) Take(queue []*message.Item, left *run.Run, p *profile.Profile) []*message.Item {
	open := left.Open()
	same := slices.EqualFunc(w.open, open, func(id string, call run.Call) bool { return id == call.ID })
	if !same {
		w.open = w.open[:0]
		for _, call := range open {
			w.open = append(w.open, call.ID)
		}
	}
	list := w.arrived
	if w.all || !same || w.profile != p {
		list = slices.Clone(queue)
	}
	w.all, w.arrived, w.profile = false, nil, p
	return list
}

// PutBack gives back what was taken and not looked at, unless all is to be looked at anyhow.
func (w *Watch) PutBack(rest []*message.Item) {
	if !w.all {
		w.arrived = rest
	}
}
