package matrix

import (
	"context"
	"fmt"
	"net/http"
)

// A room is what the account knows of a room it is in.
type room struct {
	loaded bool              // the rest is known
	people map[string]string // by Matrix ID: the name people see
	// group is true for a room of more than one person beside the account. That a room
	// is flagged as direct does not count: who invites sets the flag, and what an agent
	// keeps to one person would be read by all.
	group bool
}

// known returns the record of a room; c.mu is held.
func (c *Channel) known(id string) *room {
	r := c.rooms[id]
	if r == nil {
		r = &room{}
		c.rooms[id] = r
	}
	return r
}

func (c *Channel) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rooms, id)
	delete(c.typing, id)
}

// noteState has the people of a room read again when they have changed.
func (c *Channel) noteState(id string, events []event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range events {
		if e.Type == typeMember && e.StateKey != nil {
			c.known(id).loaded = false
		}
	}
}

// room returns what is known of a room, and asks the homeserver for what is not.
func (c *Channel) room(ctx context.Context, cl *client, id string) (room, error) {
	c.mu.Lock()
	r := *c.known(id)
	c.mu.Unlock()
	if r.loaded {
		return r, nil
	}
	var answer struct {
		Joined map[string]struct {
			Name string `json:"display_name"`
		} `json:"joined"`
	}
	err := cl.call(ctx, http.MethodGet, path("rooms", id, "joined_members"), nil, nil, &answer)
	if code(err) == "M_FORBIDDEN" {
		return room{group: true}, nil // the account has left meanwhile
	}
	if err != nil {
		return r, fmt.Errorf("read who is in room %s: %w", id, err)
	}
	people := make(map[string]string, len(answer.Joined))
	for user, m := range answer.Joined {
		people[user] = m.Name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.known(id)
	kept.people, kept.group, kept.loaded = people, len(people) > 2, true
	return *kept, nil
}
