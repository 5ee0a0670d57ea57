package control

import "sync"

// requests are those in progress. A sync.WaitGroup alone does not bear what comes while
// it is waited for: subscriptions end some time after they were told to.
type requests struct {
	mu    sync.Mutex
	ended bool // none is begun any more
	work  sync.WaitGroup
}

// begin counts a request in. It is false once wait was called: then it is not to be
// served, and the one who asks hears nothing.
func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.work.Add(1)
	}
	return !r.ended
}

// done ends one that begin has counted in.
func (r *requests) done() { r.work.Done() }

// wait lets no more begin, and waits for those in progress.
func (r *requests) wait() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.work.Wait()
}
