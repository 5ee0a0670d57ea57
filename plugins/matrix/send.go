package matrix

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nats-io/nuid"

	"agenthost/bus"
	"agenthost/plugins"
)

// Deliver sends a message. The homeserver takes one with the same key once.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	cl, err := c.connected()
	if err != nil {
		return "", err
	}
	room, err := c.resolve(ctx, cl, m.Place)
	if err != nil {
		return "", err
	}
	defer c.endTyping(ctx, cl, room)
	content, err := c.content(ctx, cl, room, m)
	if err != nil {
		return "", err
	}
	if m.Preview != "" && m.File == nil {
		_, err := c.put(ctx, cl, room, m.Key, replacement(m.Preview, content))
		return m.Preview, err
	}
	content.RelatesTo = c.relation(room, m)
	if content.RelatesTo != nil && content.RelatesTo.InReplyTo != nil && !content.RelatesTo.FallingBack && m.To != "" {
		content.Mentions.Users = []string{m.To}
	}
	id, err := c.put(ctx, cl, room, m.Key, content)
	if err != nil {
		return "", err
	}
	c.remember(id, cl.user)
	return id, nil
}

// resolve is the room of a place.
func (c *Channel) resolve(ctx context.Context, cl *client, to plugins.Place) (string, error) {
	for _, id := range []string{to.Chat, to.To} {
		if strings.HasPrefix(id, "!") {
			return id, nil
		}
	}
	return c.directRoom(ctx, cl, to.To)
}

// content makes an event of a message. Its m.mentions is empty, so that a name in the
// text alerts no person.
func (c *Channel) content(ctx context.Context, cl *client, room string, m plugins.Message) (message, error) {
	content := written(m.Plain, m.Text)
	if m.Kind == bus.KindNotice {
		content.Type = "m.notice"
	}
	if m.File == nil {
		return content, nil
	}
	if len(m.File.Data) == 0 {
		content.Body = strings.TrimSpace(m.File.Name + " " + m.File.URL)
		content.Format, content.FormattedBody = "", ""
		return content, nil
	}
	address, err := upload(ctx, cl, *m.File)
	if err != nil {
		return content, deliveryError(err, room)
	}
	content.Type, content.URL, content.Filename = fileType(*m.File), address, m.File.Name
	content.Info = &fileInfo{MIME: m.File.MIME, Size: int64(len(m.File.Data))}
	if content.Body == "" {
		content.Body, content.Format, content.FormattedBody = m.File.Name, "", ""
	}
	return content, nil
}

// written is a text with and without markup. Clients that show markup need no more
// than the beginning of the other.
func written(plain, marked string) message {
	content := message{Type: "m.text", Body: plain, Mentions: &mentions{}}
	if marked != "" && marked != plain {
		content.Format, content.FormattedBody = htmlFormat, marked
		content.Body = clip(plain, textSize)
	}
	return content
}

var tag = regexp.MustCompile(`<[^<>]*>`)

// withoutTags is what markdown.HTML has made, for clients that show no markup.
func withoutTags(text string) string { return html.UnescapeString(tag.ReplaceAllString(text, "")) }

// clip shortens text to what has size bytes in an event.
func clip(text string, size int) string {
	if encodedSize(text) <= size {
		return text
	}
	text = text[:min(len(text), size)]
	for encodedSize(text) > size {
		text = text[:len(text)*9/10]
	}
	for text != "" && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// replacement is an event that shows content in place of an earlier one. What clients
// without edits show is kept short: the text would be in the event twice.
func replacement(id string, content message) message {
	const fallback = 200
	return message{
		Type: content.Type, Body: "* " + clip(content.Body, fallback), Mentions: &mentions{},
		NewContent: &content, RelatesTo: &relation{Type: relReplace, Event: id},
	}
}

// relation puts a message into its thread, and in a group as a reply to what it
// answers.
func (c *Channel) relation(room string, m plugins.Message) *relation {
	var rel relation
	c.mu.Lock()
	group := c.known(room).group
	c.mu.Unlock()
	if group && strings.HasPrefix(m.ReplyTo, "$") && m.Part <= 1 {
		rel.InReplyTo = &reference{m.ReplyTo}
	}
	if m.Thread != "" {
		rel.Type, rel.Event = relThread, m.Thread
		if rel.InReplyTo == nil {
			rel.FallingBack, rel.InReplyTo = true, &reference{m.Thread}
		}
	}
	if rel.InReplyTo == nil {
		return nil
	}
	return &rel
}

// put sends an event under a transaction ID.
func (c *Channel) put(ctx context.Context, cl *client, room, key string, content message) (string, error) {
	var sent struct {
		ID string `json:"event_id"`
	}
	err := cl.call(ctx, http.MethodPut, path("rooms", room, "send", typeMessage, key), nil, content, &sent)
	return sent.ID, deliveryError(err, room)
}

// Preview sends what is written so far, or replaces what it has sent.
func (c *Channel) Preview(ctx context.Context, to plugins.Place, id, text string) (string, error) {
	cl, err := c.connected()
	if err != nil {
		return id, err
	}
	room, err := c.resolve(ctx, cl, to)
	if err != nil {
		return id, err
	}
	content := written(withoutTags(text), text)
	if id != "" {
		_, err := c.put(ctx, cl, room, "preview-"+nuid.Next(), replacement(id, content))
		return id, err
	}
	content.RelatesTo = c.relation(room, plugins.Message{Place: to})
	return c.put(ctx, cl, room, "preview-"+nuid.Next(), content)
}

// Typing shows that the account is typing.
func (c *Channel) Typing(ctx context.Context, to plugins.Place) error {
	cl, err := c.connected()
	if err != nil {
		return err
	}
	room, err := c.resolve(ctx, cl, to)
	if err != nil {
		return err
	}
	request := map[string]any{"typing": true, "timeout": typingFor.Milliseconds()}
	if err := cl.call(ctx, http.MethodPut, path("rooms", room, "typing", cl.user), nil, request, nil); err != nil {
		return deliveryError(fmt.Errorf("show typing: %w", err), room)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.typing[room] = true
	return nil
}

// endTyping takes back what Typing has shown: a message does not.
func (c *Channel) endTyping(ctx context.Context, cl *client, room string) {
	c.mu.Lock()
	shown := c.typing[room]
	delete(c.typing, room)
	c.mu.Unlock()
	if shown {
		// It ends by itself as well.
		_ = cl.call(ctx, http.MethodPut, path("rooms", room, "typing", cl.user), nil, map[string]any{"typing": false}, nil)
	}
}
