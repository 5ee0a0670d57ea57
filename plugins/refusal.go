package plugins

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A refusal is that of a platform that lets the account read and does not let it write, such as
// a mail server with a password of its own, or a token that was revoked while the connection
// stands. One delivery at a time is tried then, every five minutes: platforms lock out who tries
// a wrong password often. The zero value: the account may write.
type refusal struct {
	mu      sync.Mutex
	why     *LoginError // nil: the account is let in
	next    time.Time   // when one delivery may be tried
	trying  bool        // one is
	changed chan struct{}
}

// turn waits until a delivery may be tried. tries is true for the one that finds out whether the
// account is let in again: settled has to follow. An error is why the account is not let in,
// when ctx ends before.
func (r *refusal) turn(ctx context.Context) (tries bool, err error) {
	for {
		r.mu.Lock()
		if r.why == nil {
			r.mu.Unlock()
			return false, nil
		}
		wait := time.Until(r.next)
		if wait <= 0 && !r.trying {
			r.trying = true
			r.mu.Unlock()
			return true, nil
		}
		why, changed := r.why, r.changed
		r.mu.Unlock()
		var due <-chan time.Time // never, while another has its turn
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-changed:
		case <-due:
		case <-ctx.Done():
			return false, why
		}
	}
}

// settled says what has come of a delivery: a refusal begins, goes on or ends, which is reported.
func (r *refusal) settled(tried bool, err error) (refused, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	why, login := errors.AsType[*LoginError](err)
	_, permanent := errors.AsType[*PermanentError](err)
	_, letIn := errors.AsType[*AfterLoginError](err)
	switch {
	case login:
		refused = r.why == nil || tried
		r.why, r.next = why, time.Now().Add(loginEvery)
	case tried && (err == nil || permanent || letIn):
		r.why, over = nil, true
	case tried: // it says nothing of the account: a server that locks it out may let no connection in
		r.next = time.Now().Add(retryMost)
	}
	if tried {
		r.trying = false
	}
	if tried || refused {
		r.signal()
	}
	return refused, over
}

// end ends it: the account has logged in again.
func (r *refusal) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = nil
	r.signal()
}

// signal is called with the lock held.
func (r *refusal) signal() {
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
}
