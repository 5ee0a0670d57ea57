package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/plugins"
)

// take hands an update to the inbox. An error means that the update has to come
// again.
func (c *Channel) take(ctx context.Context, in *plugins.Inbox, u update) error {
	bot, err := c.self(ctx)
	if err != nil {
		return err
	}
	var r plugins.Received
	switch {
	case u.Message != nil && u.Message.MigrateFromChatID != 0:
		return c.migrated(ctx, in, u.Message)
	case u.Message != nil:
		r, err = c.received(ctx, in, u.Message, bot)
	case u.EditedMessage != nil && u.EditedMessage.Location != nil:
		return nil // a place that is shared live: it moves every few seconds
	case u.EditedMessage != nil:
		r, err = c.received(ctx, in, u.EditedMessage, bot)
		r.Edits, r.ID = r.ID, editID(u.EditedMessage.Chat.ID, u.EditedMessage.ID, u.ID)
	case u.CallbackQuery != nil:
		return c.pressed(ctx, in, u.CallbackQuery)
	}
	if err != nil {
		return err
	}
	if r.From == "" || r.Text == "" && len(r.Files) == 0 {
		return nil // such as: a person has joined
	}
	return final(in.Take(ctx, r))
}

// final is err, unless the message can never be taken: then it is over.
func final(err error) error {
	if errors.Is(err, plugins.ErrMalformed) || errors.Is(err, plugins.ErrTooLarge) {
		return nil
	}
	return err
}

// received is what a message says. It loads the files.
func (c *Channel) received(ctx context.Context, in *plugins.Inbox, m *message, bot user) (plugins.Received, error) {
	if m.From == nil || m.Chat.Type == "channel" || m.From.ID == bot.ID {
		return plugins.Received{}, nil
	}
	r := plugins.Received{
		ID:     messageID(m.Chat.ID, m.ID),
		From:   sender(m),
		Name:   senderName(m),
		SentAt: time.Unix(max(m.Date, m.EditDate), 0).UTC(),
	}
	text, inText := readText(m.Text, m.Entities, bot)
	caption, inCaption := readText(m.Caption, m.CaptionEntities, bot)
	r.Text = cmp.Or(text, caption, otherText(m))
	r.Mentioned = inText || inCaption
	if m.IsTopicMessage && m.ThreadID != 0 {
		r.Thread = strconv.FormatInt(m.ThreadID, 10)
	}
	// The first message of a topic stands as the one answered in all others.
	if to := m.ReplyTo; to != nil && to.ForumTopicCreated == nil {
		r.ReplyTo = messageID(m.Chat.ID, to.ID)
		r.Mentioned = r.Mentioned || to.From != nil && to.From.ID == bot.ID
	}
	if err := c.inChat(ctx, in, m.Chat, &r); err != nil {
		return r, err
	}
	return r, c.addFiles(ctx, in, m, &r)
}

// inChat says in which chat a message was written. With a person it is empty: the
// conversation is named by the person.
func (c *Channel) inChat(ctx context.Context, in *plugins.Inbox, chat chat, r *plugins.Received) error {
	if chat.private() {
		return nil
	}
	id, err := c.groupID(ctx, in, chat)
	if err != nil {
		return err
	}
	r.Group, r.Chat = true, id
	if chat.Title != "" {
		r.Meta = map[string]any{"chat_title": chat.Title}
	}
	return nil
}

// sender is the person, or the chat in whose name an anonymous administrator writes.
func sender(m *message) string {
	if m.SenderChat != nil {
		return strconv.FormatInt(m.SenderChat.ID, 10)
	}
	return strconv.FormatInt(m.From.ID, 10)
}

func senderName(m *message) string {
	if m.SenderChat != nil {
		return m.SenderChat.Title
	}
	return m.From.name()
}

func (u user) name() string {
	return cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), u.Username)
}

// otherText says in words what is neither text nor a file.
func otherText(m *message) string {
	switch {
	case m.Sticker != nil:
		return m.Sticker.Emoji
	case m.Location != nil:
		return fmt.Sprintf("Location: %g, %g", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return strings.Join(strings.Fields(fmt.Sprintf("Contact: %s %s %s", m.Contact.FirstName, m.Contact.LastName, m.Contact.Phone)), " ")
	}
	return ""
}

// pressed takes the press of a button, then ends its waiting. With one person it
// takes the buttons away; in a group another person may have to decide. What
// fails after the press was taken is not worth a second one.
func (c *Channel) pressed(ctx context.Context, in *plugins.Inbox, q *callbackQuery) error {
	r := plugins.Received{
		ID: "tg-cb-" + q.ID, From: strconv.FormatInt(q.From.ID, 10), Name: q.From.name(),
		Pressed: q.Data, Mentioned: true, SentAt: time.Now().UTC(),
	}
	if m := q.Message; m != nil {
		r.ReplyTo = messageID(m.Chat.ID, m.ID)
		if m.IsTopicMessage && m.ThreadID != 0 {
			r.Thread = strconv.FormatInt(m.ThreadID, 10)
		}
		if err := c.inChat(ctx, in, m.Chat, &r); err != nil {
			return err
		}
	}
	if q.Data == "" {
		return nil
	}
	if err := final(in.Take(ctx, r)); err != nil {
		return err
	}
	_ = c.api.call(ctx, "answerCallbackQuery", params{"callback_query_id": q.ID}, nil)
	if m := q.Message; m != nil && m.Chat.private() {
		_ = c.api.call(ctx, "editMessageReplyMarkup", params{"chat_id": m.Chat.ID, "message_id": m.ID}, nil)
	}
	return nil
}
