package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// named reports whether a message mentions user, whom people see as name. A client
// that sets m.mentions says exactly whom it means; of others the text is read.
func named(user, name string, said message) bool {
	if said.Mentions != nil {
		return slices.Contains(said.Mentions.Users, user)
	}
	if html, err := url.PathUnescape(said.FormattedBody); err == nil && strings.Contains(html, "matrix.to/#/"+user+`"`) {
		return true
	}
	if containsName(said.Body, user) || containsName(said.Body, name) {
		return true
	}
	local, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	return containsName(said.Body, "@"+local)
}

// containsName reports whether name stands in text as a word of its own.
func containsName(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	for rest := text; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		after, _ := utf8.DecodeRuneInString(rest[i+len(name):])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		rest = rest[i+len(name):]
	}
	return false
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// senderLimit is of how many events the sender is remembered.
const senderLimit = 1000

// sender is who has written an event; empty when the homeserver does not show it.
func (c *Channel) sender(ctx context.Context, room, id string) (string, error) {
	c.mu.Lock()
	who, known := c.senders[id]
	c.mu.Unlock()
	if known {
		return who, nil
	}
	cl, err := c.connected()
	if err != nil {
		return "", err
	}
	e, err := readEvent(ctx, cl, room, id)
	if err != nil {
		return "", err
	}
	c.remember(id, e.Sender)
	return e.Sender, nil
}

// readEvent asks for one event. It is empty when the homeserver does not show it.
func readEvent(ctx context.Context, cl *client, room, id string) (event, error) {
	var e event
	err := cl.call(ctx, http.MethodGet, path("rooms", room, "event", id), nil, nil, &e)
	var refused *apiError
	if errors.As(err, &refused) && refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusUnauthorized {
		return event{}, nil
	}
	if err != nil {
		return event{}, fmt.Errorf("read event %s: %w", id, err)
	}
	return e, nil
}

// threadOf is the thread of an event; an edit does not say it.
func (r *reader) threadOf(ctx context.Context, room, id string) (string, error) {
	e, err := readEvent(ctx, r.client, room, id)
	if err != nil {
		return "", err
	}
	var content message
	if json.Unmarshal(e.Content, &content) == nil && content.RelatesTo != nil && content.RelatesTo.Type == relThread {
		return content.RelatesTo.Event, nil
	}
	return "", nil
}

func (c *Channel) remember(id, sender string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.senders) >= senderLimit {
		clear(c.senders)
	}
	c.senders[id] = sender
}
