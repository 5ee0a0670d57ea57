package telegram

import (
	"context"
	"fmt"
	"strconv"

	"agenthost/plugins"
)

// A group that becomes a supergroup gets another id. Its conversation keeps the
// old one: a note of the account holds it for all hosts and for later.

// migrated notes under which id the group was known.
func (c *Channel) migrated(ctx context.Context, in *plugins.Inbox, m *message) error {
	old, err := c.groupID(ctx, in, chat{ID: m.MigrateFromChatID, Type: "group"})
	if err != nil {
		return err
	}
	c.move(old, m.Chat.ID)
	return in.SetNote(ctx, groupNote(m.Chat.ID), []byte(old))
}

// groupID is the id under which a group is known.
func (c *Channel) groupID(ctx context.Context, in *plugins.Inbox, chat chat) (string, error) {
	id := strconv.FormatInt(chat.ID, 10)
	if chat.Type != "supergroup" {
		return id, nil
	}
	old, err := in.Note(ctx, groupNote(chat.ID))
	if err != nil {
		return "", fmt.Errorf("read the former id of group %s: %w", id, err)
	}
	if len(old) == 0 {
		return id, nil
	}
	c.move(string(old), chat.ID)
	return string(old), nil
}

func groupNote(id int64) string { return "group." + strconv.FormatInt(id, 10) }

// move has what goes to a group sent to its new id.
func (c *Channel) move(old string, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved[old] = id
}

// chatOf is the chat to which a message for a place goes.
func (c *Channel) chatOf(to plugins.Place) (int64, error) {
	id := to.Chat
	if id == "" {
		id = to.To
	}
	c.mu.Lock()
	now, moved := c.moved[id]
	c.mu.Unlock()
	if moved {
		return now, nil
	}
	chat, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, plugins.Permanent(fmt.Errorf("%q is no chat of Telegram: want the number of a person or group", id))
	}
	return chat, nil
}
