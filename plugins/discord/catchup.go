package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"agenthost/plugins"
)

const (
	page     = 100         // messages that one call gives
	maxPages = 10          // of a room
	untold   = time.Second // a limit lasts that says no time
)

// catchUp takes what was written in a room while there was no session. A room that
// the bot may not read is left out.
func (c *connection) catchUp(ctx context.Context, r room) error {
	after := c.session.missed()
	for range maxPages {
		messages, err := c.history(ctx, r.ID, after)
		if _, never := errors.AsType[*plugins.PermanentError](err); never {
			return nil
		}
		if err != nil {
			return err
		}
		slices.SortFunc(messages, func(a, b message) int {
			if later(a.ID, b.ID) {
				return 1
			}
			return -1
		})
		for i := range messages {
			messages[i].GuildID = r.GuildID
			if err := c.take(ctx, &messages[i], false); err != nil {
				return err
			}
			after = messages[i].ID
		}
		if len(messages) < page {
			return nil
		}
	}
	return nil
}

// history reads the messages after one. It waits out a rate limit.
func (c *connection) history(ctx context.Context, room, after string) ([]message, error) {
	path := "/channels/" + url.PathEscape(room) + "/messages?limit=" + strconv.Itoa(page) + "&after=" + url.QueryEscape(after)
	for {
		var messages []message
		err := c.channel.api.call(ctx, http.MethodGet, path, nil, &messages)
		limit, limited := errors.AsType[*plugins.RateLimitError](err)
		if !limited {
			return messages, err
		}
		select {
		case <-time.After(pause(limit)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pause is how long a limit of Discord, or of a proxy before it, is waited out.
func pause(limit *plugins.RateLimitError) time.Duration {
	if limit.After <= 0 {
		return untold
	}
	return limit.After
}
