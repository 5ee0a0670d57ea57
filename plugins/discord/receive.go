package discord

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"agenthost/plugins"
)

// received is what a message says. It is empty for what no person has written.
func (c *Channel) received(ctx context.Context, in *plugins.Inbox, m *message, edited bool) (plugins.Received, error) {
	bot := c.me()
	if m.Author == nil || m.Author.Bot || m.Author.ID == bot.ID || m.WebhookID != "" || m.Type != typeDefault && m.Type != typeReply {
		return plugins.Received{}, nil
	}
	if edited && m.Edited == nil {
		return plugins.Received{}, nil // such as: a preview of a link was added
	}
	r := plugins.Received{ID: messageID(m.ID), From: m.Author.ID, Name: name(m.Author, m.Member), SentAt: m.Timestamp}
	if edited {
		r.Edits, r.ID, r.SentAt = r.ID, fmt.Sprintf("%s.%d", r.ID, m.Edited.UnixMilli()), *m.Edited
	}
	r.Text, r.Mentioned = c.readText(m, bot)
	if m.Reference != nil && m.Type == typeReply {
		r.ReplyTo = messageID(m.Reference.MessageID)
		r.Mentioned = r.Mentioned || m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == bot.ID
	}
	if err := c.inRoom(ctx, m.ChannelID, m.GuildID, m.Author.ID, &r); err != nil {
		return plugins.Received{}, err
	}
	if err := c.addFiles(ctx, in, m, &r); err != nil {
		return plugins.Received{}, err
	}
	if r.Text == "" && len(r.Files) == 0 {
		return plugins.Received{}, nil // such as a sticker alone
	}
	return r, nil
}

// messageID names a message everywhere else. Discord's ids count over all rooms.
func messageID(id string) string { return "dc-" + id }

// parseID is what messageID has named, or an edit of it.
func parseID(id string) (string, bool) {
	id, ok := strings.CutPrefix(id, "dc-")
	id, _, _ = strings.Cut(id, ".")
	return id, ok && id != "" && strings.Trim(id, "0123456789") == ""
}

func name(u *user, m *member) string {
	if m != nil && m.Nick != "" {
		return m.Nick
	}
	return cmp.Or(u.GlobalName, u.Username)
}

var mentions = regexp.MustCompile(`<@[!&]?(\d+)>`)

// readText is the text of a message without the mentions of the bot, and with names
// in place of the other persons' ids.
func (c *Channel) readText(m *message, bot user) (text string, mentioned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mentioned = slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == bot.ID }) && strings.Contains(m.Content, bot.ID) ||
		slices.ContainsFunc(m.MentionRoles, func(id string) bool { return c.roles[id] })
	text = c.named(m, bot)
	if text != m.Content && mentioned {
		text = strings.TrimLeft(strings.TrimSpace(text), ",:; ")
	}
	if text == "" && mentioned { // a call without words
		text = "@" + bot.Username
	}
	return text, mentioned
}

// named is the text with the mentions of the bot taken out, each with the spaces that would
// be left over, and with names in place of others. c.mu is held.
func (c *Channel) named(m *message, bot user) string {
	var b strings.Builder
	rest := m.Content
	for {
		at := mentions.FindStringIndex(rest)
		if at == nil {
			return b.String() + rest
		}
		b.WriteString(rest[:at[0]])
		found, id := rest[at[0]:at[1]], strings.Trim(rest[at[0]:at[1]], "<@!&>")
		rest = rest[at[1]:]
		if id != bot.ID && !c.roles[id] {
			if i := slices.IndexFunc(m.Mentions, func(u user) bool { return u.ID == id }); i >= 0 {
				found = "@" + name(&m.Mentions[i], nil)
			}
			b.WriteString(found)
		} else if before := b.String(); before == "" || strings.HasSuffix(before, " ") {
			rest = strings.TrimLeft(rest, " ")
		}
	}
}

// inRoom says where a message was written. In private it is no chat: the
// conversation is named by the person.
func (c *Channel) inRoom(ctx context.Context, id, guild, person string, r *plugins.Received) error {
	if guild == "" {
		c.keepDM(person, id)
		return nil
	}
	r.Group, r.Chat = true, id
	place, err := c.room(ctx, id)
	if err != nil {
		return err
	}
	if place.thread() && place.ParentID != "" {
		r.Chat, r.Thread = place.ParentID, id
	}
	return nil
}

// answerWithin is after how long a press that is not taken yet is answered: Discord
// waits three seconds.
const answerWithin = 2 * time.Second

// Answers to an interaction.
const (
	answerLater = 6 // nothing changes for now
	answerEdit  = 7 // the message is edited
)

// pressed takes the press of a button and answers it. With one person it takes the
// buttons away; in a server another person may have to decide. What fails after
// the press was taken is not worth a second one.
func (c *connection) pressed(ctx context.Context, i interaction) error {
	person, r := i.User, plugins.Received{ID: "dc-cb-" + i.ID, Pressed: i.Data.CustomID, Mentioned: true, SentAt: time.Now().UTC()}
	if i.Member != nil {
		person = &i.Member.User
	}
	if person == nil || r.Pressed == "" {
		return nil
	}
	r.From, r.Name = person.ID, name(person, i.Member)
	if i.Message != nil {
		r.ReplyTo = messageID(i.Message.ID)
	}
	ch := c.channel
	if err := ch.inRoom(ctx, i.ChannelID, i.GuildID, person.ID, &r); err != nil {
		return err
	}
	taken := make(chan error, 1)
	go func() { taken <- final(c.inbox.Take(ctx, r)) }()
	none := map[string]any{"components": []any{}}
	select {
	case err := <-taken:
		if err != nil {
			return err
		}
		answer := map[string]any{"type": answerEdit, "data": none}
		if r.Group {
			answer = map[string]any{"type": answerLater}
		}
		_ = ch.answer(ctx, i, answer)
	case <-time.After(answerWithin):
		_ = ch.answer(ctx, i, map[string]any{"type": answerLater})
		if err := <-taken; err != nil {
			return err
		}
		if i.Message != nil && !r.Group {
			_ = ch.api.call(ctx, http.MethodPatch, "/channels/"+i.ChannelID+"/messages/"+i.Message.ID, none, nil)
		}
	}
	return nil
}

func (c *Channel) answer(ctx context.Context, i interaction, body any) error {
	return c.api.call(ctx, http.MethodPost, "/interactions/"+i.ID+"/"+i.Token+"/callback", body, nil)
}
