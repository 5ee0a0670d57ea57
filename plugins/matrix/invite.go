package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// noteInvited keeps the rooms to which the account is invited and which it has not joined.
const noteInvited = "invited"

// mostInvited is how many invitations wait; more are left as they are. Everybody may send one.
const mostInvited = 1000

// Invitations are followed one after the other beside the reading: a room whose own homeserver
// does not answer, or a limit of the homeserver for joins, keeps no room from being read.
type invitations struct {
	mu    sync.Mutex
	rooms map[string]bool
	came  chan struct{} // speaks when there is one more
}

func newInvitations(rooms []string) *invitations {
	i := &invitations{rooms: map[string]bool{}, came: make(chan struct{}, 1)}
	for _, id := range rooms {
		i.rooms[id] = true
	}
	return i
}

// set notes that a room waits, or does not any more. It reports whether that is new.
func (i *invitations) set(id string, waits bool) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.rooms[id] == waits, waits && len(i.rooms) >= mostInvited:
		return false
	case waits:
		i.rooms[id] = true
		select {
		case i.came <- struct{}{}:
		default:
		}
	default:
		delete(i.rooms, id)
	}
	return true
}

func (i *invitations) list() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Sorted(maps.Keys(i.rooms))
}

// invited notes that a room waits to be joined, or does not any more, for the next Run as well.
func (r *reader) invited(ctx context.Context, id string, waits bool) error {
	if !r.invitations.set(id, waits) {
		return nil
	}
	note, err := json.Marshal(r.invitations.list())
	if err != nil {
		return err
	}
	if err := r.inbox.SetNote(ctx, noteInvited, note); err != nil {
		return fmt.Errorf("keep the list of invitations: %w", err)
	}
	return nil
}

// follow joins the rooms to which the account is invited, until ctx ends.
func (r *reader) follow(ctx context.Context) error {
	for {
		for _, id := range r.invitations.list() {
			if err := r.join(ctx, id); err != nil {
				return err
			}
			if err := r.invited(ctx, id, false); err != nil {
				return err
			}
		}
		select {
		case <-r.invitations.came:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// join follows an invitation. One that cannot be followed is left as it is; the error is that
// of ctx.
func (r *reader) join(ctx context.Context, id string) error {
	for range attempts {
		err := r.client.call(ctx, http.MethodPost, path("join", id), nil, struct{}{}, nil)
		wait := time.Second
		refused, _ := errors.AsType[*apiError](err)
		switch {
		case err == nil, refused != nil && refused.Status < 500 && refused.Code != "M_LIMIT_EXCEEDED":
			return nil
		case refused != nil:
			wait = max(refused.After, wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	return nil
}
