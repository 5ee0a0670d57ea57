package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"agenthost/plugins"
)

// noteSince keeps how far the account has read.
const noteSince = "since"

// A position is good for one user: another's would leave out messages.
type position struct {
	User  string `json:"user"`
	Since string `json:"since"`
}

const (
	syncWait  = 30 * time.Second
	syncLimit = 50 // events of a room in a sync
)

// A reader reads the account's rooms while Run runs.
type reader struct {
	*Channel
	client    *client
	inbox     *plugins.Inbox
	since     string
	encrypted map[string]bool // rooms that were told that they are not read

	invitations *invitations
}

type syncAnswer struct {
	Next  string `json:"next_batch"`
	Rooms struct {
		Join   map[string]joinedRoom `json:"join"`
		Invite map[string]struct{}   `json:"invite"`
		Leave  map[string]struct{}   `json:"leave"`
	} `json:"rooms"`
}

type joinedRoom struct {
	State struct {
		Events []event `json:"events"`
	} `json:"state"`
	Timeline struct {
		Events  []event `json:"events"`
		Limited bool    `json:"limited"`
		Before  string  `json:"prev_batch"`
	} `json:"timeline"`
}

// filter leaves out what the channel does not read.
var filter = fmt.Sprintf(`{"presence":{"types":[]},"account_data":{"types":[]},`+
	`"room":{"ephemeral":{"types":[]},"account_data":{"types":[]},"state":{"lazy_load_members":true},"timeline":{"limit":%d}}}`, syncLimit)

// restore reads what an earlier Run has kept.
func (r *reader) restore(ctx context.Context) error {
	kept, err := r.inbox.Note(ctx, noteSince)
	if err != nil {
		return fmt.Errorf("read the position: %w", err)
	}
	var from position
	_ = json.Unmarshal(kept, &from) // a broken note counts as missing
	if from.User == r.client.user {
		r.since = from.Since
	}
	told, err := r.inbox.Note(ctx, noteEncrypted)
	if err != nil {
		return fmt.Errorf("read the list of encrypted rooms: %w", err)
	}
	r.encrypted = map[string]bool{}
	var rooms []string
	_ = json.Unmarshal(told, &rooms) // a broken list is begun again
	for _, id := range rooms {
		r.encrypted[id] = true
	}
	invited, err := r.inbox.Note(ctx, noteInvited)
	if err != nil {
		return fmt.Errorf("read the list of invitations: %w", err)
	}
	rooms = nil
	_ = json.Unmarshal(invited, &rooms)
	r.invitations = newInvitations(rooms)
	return nil
}

// run reads, and follows invitations, until ctx ends or the homeserver is lost.
func (r *reader) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.read(ctx) })
	group.Go(func() error { return r.follow(ctx) })
	return group.Wait()
}

// read syncs. The first sync of an account only says where it begins.
func (r *reader) read(ctx context.Context) error {
	wait := time.Duration(0) // the first answer says that the account is connected
	for {
		answer, err := r.sync(ctx, wait)
		if err != nil {
			return err
		}
		if wait == 0 {
			r.inbox.Connected(r.client.user)
			wait = syncWait
		}
		if err := r.handle(ctx, answer); err != nil {
			return err
		}
		if answer.Next == r.since {
			continue
		}
		if err := r.keep(ctx, answer.Next); err != nil {
			return fmt.Errorf("keep the position: %w", err)
		}
	}
}

func (r *reader) keep(ctx context.Context, since string) error {
	note, err := json.Marshal(position{r.client.user, since})
	if err != nil {
		return err
	}
	if err := r.inbox.SetNote(ctx, noteSince, note); err != nil {
		return err
	}
	r.since = since
	return nil
}

func (r *reader) sync(ctx context.Context, wait time.Duration) (syncAnswer, error) {
	query := url.Values{"timeout": {strconv.FormatInt(wait.Milliseconds(), 10)}, "filter": {filter}}
	if r.since != "" {
		query.Set("since", r.since)
	}
	var answer syncAnswer
	if err := r.client.call(ctx, http.MethodGet, path("sync"), query, nil, &answer); err != nil {
		return answer, fmt.Errorf("sync: %w", err)
	}
	return answer, nil
}

// handle takes all that a sync brought.
func (r *reader) handle(ctx context.Context, answer syncAnswer) error {
	for id := range answer.Rooms.Leave {
		r.forget(id)
	}
	for _, id := range slices.Sorted(maps.Keys(answer.Rooms.Join)) {
		if err := r.handleRoom(ctx, id, answer.Rooms.Join[id]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(answer.Rooms.Invite)) {
		if err := r.invited(ctx, id, true); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) handleRoom(ctx context.Context, id string, joined joinedRoom) error {
	events := joined.Timeline.Events
	r.noteState(id, joined.State.Events)
	r.noteState(id, events)
	if r.since == "" {
		return nil // what was written before the account was first used
	}
	if joined.Timeline.Limited {
		missing, err := r.between(ctx, id, joined.Timeline.Before, events)
		if err != nil {
			return err
		}
		events = append(missing, events...)
	}
	for _, e := range r.sinceInvited(events) {
		if err := r.take(ctx, id, e); err != nil {
			return err
		}
	}
	return nil
}

// invitedIn is the index of the last event that invited the account; -1: none.
func (r *reader) invitedIn(events []event) int {
	for i, e := range slices.Backward(events) {
		if e.own(r.client.user, "invite") {
			return i
		}
	}
	return -1
}

// sinceInvited leaves out what was written before the account was invited, or had
// joined where it was not invited.
func (r *reader) sinceInvited(events []event) []event {
	if i := r.invitedIn(events); i >= 0 {
		return events[i+1:]
	}
	for i, e := range slices.Backward(events) {
		if e.joins(r.client.user) {
			return events[i+1:]
		}
	}
	return events
}
