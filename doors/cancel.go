package doors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/run"

	"github.com/nats-io/nuid"
)

// withdrawnWithin bounds what Cancel waits until a host has withdrawn the message or refused to.
const withdrawnWithin = 2 * time.Second

// ErrNotCancelled is the error of Cancel when no host says in time whether the message waits.
var ErrNotCancelled = errors.New("no host has withdrawn the message in time, and another one of its session may be in work")

// Cancel ends what the agent does for the message. A message that waits for its turn is withdrawn,
// which no reply follows: an order to stop would end the run of another message of the session.
func (e *Exchange) Cancel(ctx context.Context) (withdrawn bool, err error) {
	tooLate := e.isTaken()
	if !tooLate {
		withdrawn, tooLate, err = e.withdraw(ctx)
	}
	switch {
	case withdrawn || err != nil || e.hasEnded():
		return withdrawn, err
	case !tooLate && e.desk.sharesSession(e): // no host serves the session now
		return false, ErrNotCancelled
	}
	return false, e.Stop(ctx)
}

// withdraw takes the message back. tooLate says that a run has taken it.
func (e *Exchange) withdraw(ctx context.Context) (withdrawn, tooLate bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, withdrawnWithin)
	var follower sync.WaitGroup
	defer follower.Wait()
	defer cancel()
	in := bus.Inbound{ID: nuid.Next(), Withdraws: e.ID}
	refused := e.awaitRefusal(in.ID)
	logged, err := e.followInput(ctx, &follower, in.ID)
	if err != nil {
		return false, false, err
	}
	if _, err := e.desk.publish(ctx, e.place, in); err != nil {
		return false, false, err
	}
	select {
	case <-refused:
		return false, true, nil
	case withdrawn = <-logged: // false: what follows the log has broken off
	case <-ctx.Done():
	}
	return withdrawn, false, nil
}

// awaitRefusal returns a channel that is closed when a withdrawal by a message of that id is
// answered, which is an error.
func (e *Exchange) awaitRefusal(id string) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.withdrawal, e.refused = id, make(chan struct{})
	return e.refused
}

// followInput reports once the log of the session has an input of that id. It returns when it
// misses nothing any more.
func (e *Exchange) followInput(ctx context.Context, work *sync.WaitGroup, id string) (<-chan bool, error) {
	sid, err := client.SessionID(e.place.Agent, e.Session())
	if err != nil {
		return nil, err
	}
	ready, logged := make(chan error, 1), make(chan bool, 1)
	work.Go(func() { // until ctx ends
		for f, err := range e.desk.client.Sessions().Follow(ctx, e.place.Agent, sid, func() { ready <- nil }) {
			if err != nil {
				ready <- err // has room, or nothing reads it
				break
			}
			if f.Event.Type == run.InputAdded && f.Event.Input != nil && f.Event.Input.ID == id {
				logged <- true
				return
			}
		}
		logged <- false
	})
	select {
	case err := <-ready:
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAway, err)
		}
	case <-ctx.Done():
		return nil, ErrAway
	}
	return logged, nil
}

func (e *Exchange) isTaken() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken
}

// hasEnded reports whether the final reply has come.
func (e *Exchange) hasEnded() bool {
	_, ended := e.desk.EndOf(e.place, e.ID)
	return ended
}

// sharesSession reports whether another exchange of the door is open in the session of e.
func (d *Desk) sharesSession(e *Exchange) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open[e.place.Agent+"/"+d.Key(e.place)]) > 1
}
