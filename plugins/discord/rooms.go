package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"agenthost/plugins"
)

// maxKnown bounds what is kept of rooms: beyond it all is asked for again.
const maxKnown = 20_000

func (c *Channel) keepRoom(r room) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rooms) >= maxKnown {
		clear(c.rooms)
	}
	c.rooms[r.ID] = r
}

// room is what Discord says about a room. One that the bot may not see is an
// ordinary one.
func (c *Channel) room(ctx context.Context, id string) (room, error) {
	c.mu.Lock()
	r, ok := c.rooms[id]
	c.mu.Unlock()
	if ok {
		return r, nil
	}
	err := c.api.call(ctx, http.MethodGet, "/channels/"+url.PathEscape(id), nil, &r)
	if _, never := errors.AsType[*plugins.PermanentError](err); never {
		r, err = room{ID: id}, nil
	}
	if err != nil {
		return room{}, err
	}
	c.keepRoom(r)
	return r, nil
}

func (c *Channel) keepDM(person, room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.dms) >= maxKnown {
		clear(c.dms)
	}
	c.dms[person] = room
}

// roomOf is the room to which a message for a place goes.
func (c *Channel) roomOf(ctx context.Context, to plugins.Place) (string, error) {
	for _, id := range []string{to.Thread, to.Chat, to.To} {
		if id == "" {
			continue
		}
		if strings.Trim(id, "0123456789") != "" {
			return "", plugins.Permanent(errors.New("discord: " + id + " is no id of a person or channel: want a number, as Copy ID shows it"))
		}
	}
	switch {
	case to.Thread != "":
		return to.Thread, nil
	case to.Chat != "":
		return to.Chat, nil
	case to.To == "":
		return "", plugins.Permanent(errors.New("discord: a message to no one"))
	}
	c.mu.Lock()
	id, ok := c.dms[to.To]
	c.mu.Unlock()
	if ok {
		return id, nil
	}
	var r room
	if err := c.api.call(ctx, http.MethodPost, "/users/@me/channels", map[string]any{"recipient_id": to.To}, &r); err != nil {
		return "", err
	}
	c.keepDM(to.To, r.ID)
	return r.ID, nil
}
