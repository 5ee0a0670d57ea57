package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"agenthost/plugins"
)

const (
	// gapLimit is how many events of a room are read that a sync has left out.
	gapLimit = 2000
	// gapAttempts is how often they are asked for, with pauses that grow: for some minutes.
	gapAttempts = 10
)

// between reads the events between the last sync and the timeline of this one, the oldest
// first. All other rooms wait for it: it does without what the homeserver never gives, for a
// reason of its own.
func (r *reader) between(ctx context.Context, id, from string, timeline []event) ([]event, error) {
	found, err := r.missing(ctx, id, from, timeline)
	key := "gap " + id
	refused, _ := errors.AsType[*apiError](err)
	switch {
	case err == nil:
		r.succeeded(key)
	case ctx.Err() != nil: // the host stops
	case refused != nil && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusTooManyRequests): // of the account, not of the room
	case r.failed(key) >= gapAttempts:
		r.succeeded(key)
		r.inbox.Refused(plugins.Received{ID: id}, fmt.Errorf("%w; what was written there is left out", err))
		return found, nil
	}
	return found, err
}

// missing reads these events, as many as it can.
func (r *reader) missing(ctx context.Context, id, from string, timeline []event) ([]event, error) {
	if r.invitedIn(timeline) >= 0 {
		return nil, nil // the rest is from before the account knew of the room
	}
	var found []event
	for from != "" && len(found) < gapLimit {
		var page struct {
			Chunk []event `json:"chunk"`
			End   string  `json:"end"`
		}
		query := url.Values{"dir": {"b"}, "from": {from}, "to": {r.since}, "limit": {"100"}}
		if err := r.client.call(ctx, http.MethodGet, path("rooms", id, "messages"), query, nil, &page); err != nil {
			if code(err) == "M_FORBIDDEN" {
				break // the account has left meanwhile
			}
			slices.Reverse(found)
			return found, fmt.Errorf("read what was written in room %s: %w", id, err)
		}
		if len(page.Chunk) == 0 {
			break
		}
		found = append(found, page.Chunk...)
		if r.invitedIn(page.Chunk) >= 0 {
			break
		}
		from = page.End
	}
	slices.Reverse(found)
	return found, nil
}
