package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"agenthost/plugins"
)

// take hands one event of a room to the inbox, when it is something that a person
// says.
func (r *reader) take(ctx context.Context, id string, e event) error {
	if e.Sender == r.client.user {
		return nil
	}
	if e.Type == typeEncrypted {
		return r.sayEncrypted(ctx, id)
	}
	content, ok := spoken(e)
	if !ok {
		return nil
	}
	m, err := r.received(ctx, id, e, content)
	if err != nil {
		return err
	}
	err = r.inbox.Take(ctx, m)
	switch {
	case errors.Is(err, plugins.ErrTooLarge):
		return r.say(ctx, id, "too-large-"+e.ID, "Your message is too large, so I didn't get it. Please send a shorter one.")
	case errors.Is(err, plugins.ErrMalformed):
		return nil
	}
	return err
}

// spoken is the content of an event that a person has written. Notices are from
// programs: to answer them would make two bots talk for ever.
func spoken(e event) (message, bool) {
	var content message
	if (e.Type != typeMessage && e.Type != typeSticker) || json.Unmarshal(e.Content, &content) != nil {
		return content, false
	}
	if e.Type == typeSticker {
		content.Type = "m.image"
	}
	switch {
	case content.Type == "", content.Type == "m.notice": // redacted; from a program
		return content, false
	case strings.HasPrefix(content.Type, "m.key.verification."):
		return content, false
	}
	return content, true
}

// received makes a message of what was written in a room.
func (r *reader) received(ctx context.Context, id string, e event, content message) (plugins.Received, error) {
	in, err := r.room(ctx, r.client, id)
	if err != nil {
		return plugins.Received{}, err
	}
	m := plugins.Received{
		ID: e.ID, From: e.Sender, Name: in.people[e.Sender],
		Chat: id, Group: in.group, SentAt: e.sentAt(),
	}
	said := content
	if rel := content.RelatesTo; rel != nil {
		switch rel.Type {
		case relReplace:
			m.Edits = rel.Event
			if m.Thread, err = r.threadOf(ctx, id, rel.Event); err != nil {
				return m, err
			}
			if content.NewContent != nil {
				said = *content.NewContent
			}
		case relThread:
			m.Thread = rel.Event
		}
		if rel.InReplyTo != nil && !rel.FallingBack {
			m.ReplyTo = rel.InReplyTo.Event
		}
	}
	m.Text = unmention(r.client.user, in.people[r.client.user], said, said.text(m.Name))
	if said.URL != "" {
		file, err := r.download(ctx, e.ID, said)
		if err != nil {
			return m, err
		}
		m.Files = []plugins.File{file}
	}
	if m.Group {
		m.Mentioned, err = r.mentioned(ctx, id, in, said, m)
	}
	return m, err
}

// text is what a person has written, without the lines that older clients quote
// before a reply.
func (c message) text(name string) string {
	if c.URL != "" && (c.Filename == "" || c.Filename == c.Body) {
		return "" // the body is the name of the file
	}
	text := c.Body
	if c.RelatesTo != nil && c.RelatesTo.InReplyTo != nil && strings.HasPrefix(text, "> ") {
		if _, rest, found := strings.Cut(text, "\n\n"); found {
			text = rest
		}
	}
	if c.Type == "m.emote" {
		return strings.TrimSpace("* " + name + " " + text)
	}
	return text
}

// mentioned reports whether a message in a group is for the account.
func (r *reader) mentioned(ctx context.Context, id string, in room, said message, m plugins.Received) (bool, error) {
	if named(r.client.user, in.people[r.client.user], said) {
		return true, nil
	}
	for _, answered := range []string{m.ReplyTo, m.Thread} {
		if answered == "" {
			continue
		}
		sender, err := r.sender(ctx, id, answered)
		if err != nil || sender == r.client.user {
			return sender == r.client.user, err
		}
	}
	return false, nil
}
