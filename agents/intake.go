package agents

import (
	"slices"
	"sync"
	"sync/atomic"
)

// An intake counts what lanes have offered to an agent and what the agent has
// accepted, in the same order: the rest is in its inbox. The zero intake is ready
// to use.
type intake struct {
	in, out atomic.Uint64
	waits   atomic.Bool // somewhere in waiting

	mu      sync.Mutex
	waiting []emptied
}

// An emptied is called when so many were accepted.
type emptied struct {
	out  uint64
	then func()
}

func (i *intake) offered() { i.in.Add(1) }

func (i *intake) accepted() {
	i.out.Add(1)
	if i.waits.Load() {
		i.call()
	}
}

// empty reports whether all that was offered until now is accepted. If it is not,
// then is called once it is; nil asks only.
func (i *intake) empty(then func()) bool {
	offered := i.in.Load()
	if i.out.Load() >= offered {
		return true
	}
	if then == nil {
		return false
	}
	i.mu.Lock()
	i.waiting = append(i.waiting, emptied{offered, then})
	i.waits.Store(true)
	i.mu.Unlock()
	i.call() // it may have been accepted meanwhile
	return false
}

// call calls those whose time has come, beside the caller: it may hold a lock that
// they take.
func (i *intake) call() {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := i.out.Load()
	i.waiting = slices.DeleteFunc(i.waiting, func(w emptied) bool {
		if w.out <= out {
			go w.then()
		}
		return w.out <= out
	})
	i.waits.Store(len(i.waiting) > 0)
}
