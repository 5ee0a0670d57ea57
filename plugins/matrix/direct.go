package matrix

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"agenthost/plugins"
)

// directRoom is the room in which the account talks with a person alone. It opens
// one where it is missing.
func (c *Channel) directRoom(ctx context.Context, cl *client, person string) (string, error) {
	if person == "" || person[0] != '@' {
		return "", plugins.Permanent(fmt.Errorf("send to %q: want a person such as @ana:example.org, or a room such as !abc:example.org", person))
	}
	var joined struct {
		Rooms []string `json:"joined_rooms"`
	}
	if err := cl.call(ctx, http.MethodGet, path("joined_rooms"), nil, nil, &joined); err != nil {
		return "", fmt.Errorf("read the account's rooms: %w", err)
	}
	direct, err := directRooms(ctx, cl)
	if err != nil {
		return "", err
	}
	for _, id := range direct[person] {
		if slices.Contains(joined.Rooms, id) {
			return id, nil
		}
	}
	for _, id := range joined.Rooms {
		r, err := c.room(ctx, cl, id)
		if err != nil {
			return "", err
		}
		if _, there := r.people[person]; there && !r.group {
			return id, nil
		}
	}
	return openRoom(ctx, cl, person, direct)
}

// openRoom invites a person into a new room, and puts it on the account's list, so
// that the next message finds it before the person has joined.
func openRoom(ctx context.Context, cl *client, person string, direct map[string][]string) (string, error) {
	request := map[string]any{"is_direct": true, "invite": []string{person}, "preset": "trusted_private_chat"}
	var created struct {
		Room string `json:"room_id"`
	}
	if err := cl.call(ctx, http.MethodPost, path("createRoom"), nil, request, &created); err != nil {
		return "", deliveryError(fmt.Errorf("open a room with %s: %w", person, err), person)
	}
	direct[person] = append(direct[person], created.Room)
	if err := cl.call(ctx, http.MethodPut, path("user", cl.user, "account_data", "m.direct"), nil, direct, nil); err != nil {
		return "", fmt.Errorf("note the room with %s: %w", person, err)
	}
	return created.Room, nil
}

// directRooms is the account's list of rooms that are with one person.
func directRooms(ctx context.Context, cl *client) (map[string][]string, error) {
	direct := map[string][]string{}
	err := cl.call(ctx, http.MethodGet, path("user", cl.user, "account_data", "m.direct"), nil, nil, &direct)
	if err != nil && code(err) != "M_NOT_FOUND" {
		return nil, fmt.Errorf("read the list of direct chats: %w", err)
	}
	return direct, nil
}
