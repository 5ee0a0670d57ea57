package agents

import (
	"slices"

	"agenthost/run"
)

// A watch is the part of a queue that a run under way has to look at: what has come
// since it looked last, or all of it once more when what it would make of a message has
// changed. Guarded by the conversation. A nil watch is that of no run.
type watch struct {
	all     bool
	arrived []*item  // in the order of the queue
	open    []string // the calls that waited for an answer when it looked last
	profile *profile // the settings of the agent then
}

// add notes what has come.
func (w *watch) add(it *item) {
	if w != nil && !w.all {
		w.arrived = append(w.arrived, it)
	}
}

// again has all of the queue looked at.
func (w *watch) again() {
	if w != nil {
		w.all, w.arrived = true, nil
	}
}

// take returns what of the queue to look at for a run, and takes it for looked at.
func (w *watch) take(queue []*item, left *run.Run, p *profile) []*item {
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

// put gives back what was taken and not looked at.
func (w *watch) put(rest []*item) { w.arrived = rest }

// watch is that of the run under way. Called with the lock held.
func (c *conversation) watch() *watch {
	if c.current == nil {
		return nil
	}
	return &c.current.watch
}
