package telegram

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agenthost/plugins"
)

// In a private chat a preview is a draft, which is gone when the message is sent.
// Elsewhere, and where the API has no drafts, it is a message that is edited.

const (
	draftPrefix = "draft-"
	// groupEvery is the shortest time between two edits in a group, in which a bot
	// may write 20 times a minute.
	groupEvery = 4 * time.Second
)

var errNoDraft = errors.New("no drafts")

// Preview shows what is written so far.
func (c *Channel) Preview(ctx context.Context, to plugins.Place, id, text string) (string, error) {
	chat, err := c.chatOf(to)
	if err != nil {
		return id, err
	}
	if strings.TrimSpace(text) == "" {
		return id, nil
	}
	if chat > 0 && (id == "" || strings.HasPrefix(id, draftPrefix)) && c.hasDrafts() {
		id, err := c.draft(ctx, chat, to, id, text)
		if !errors.Is(err, errNoDraft) {
			return id, verdict(err, true)
		}
	}
	_, message, ok := parseID(id)
	if !ok {
		return c.firstPreview(ctx, chat, to, text)
	}
	if chat < 0 && !c.due(id) {
		return id, nil
	}
	err = c.show(ctx, "editMessageText", params{"chat_id": chat, "message_id": message}, text, nil)
	if is(err, http.StatusBadRequest, "message is not modified") {
		err = nil
	}
	return id, verdict(err, true)
}

// firstPreview sends the message that is edited from then on.
func (c *Channel) firstPreview(ctx context.Context, chat int64, to plugins.Place, text string) (string, error) {
	p := address(chat, to)
	p["disable_notification"] = true
	var sent message
	if err := c.show(ctx, "sendMessage", p, text, &sent); err != nil {
		return "", verdict(err, true)
	}
	id := messageID(chat, sent.ID)
	c.due(id)
	return id, nil
}

// show calls a method with a text, which is plain where its markup is not understood.
func (c *Channel) show(ctx context.Context, method string, p params, text string, result any) error {
	m := plugins.Message{Text: text, Plain: withoutMarkup(text)}
	return c.withText(p, "text", m, func() error { return c.api.call(ctx, method, p, result) })
}

// draft shows a draft. The error is errNoDraft where drafts are not supported.
func (c *Channel) draft(ctx context.Context, chat int64, to plugins.Place, id, text string) (string, error) {
	number, err := strconv.ParseInt(strings.TrimPrefix(id, draftPrefix), 10, 64)
	if err != nil {
		number = time.Now().UnixNano()/1000&0x3fffffff + 1 // any number but 0
	}
	p := address(chat, to)
	p["draft_id"] = number
	err = c.show(ctx, "sendMessageDraft", p, text, nil)
	switch {
	case is(err, http.StatusNotFound, ""):
		c.mu.Lock()
		defer c.mu.Unlock()
		c.noDraft = true
		return "", errNoDraft
	case is(err, http.StatusBadRequest, ""): // such as: not in this chat
		return "", errNoDraft
	}
	return draftPrefix + strconv.FormatInt(number, 10), err
}

func (c *Channel) hasDrafts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.noDraft
}

// due reports whether a preview in a group may be edited again, and notes that it
// is.
func (c *Channel) due(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for other, at := range c.previews {
		if now.Sub(at) > time.Minute { // its reply never came
			delete(c.previews, other)
		}
	}
	if last, ok := c.previews[id]; ok && now.Sub(last) < groupEvery {
		return false
	}
	c.previews[id] = now
	return true
}

// endPreview forgets a preview whose reply is here.
func (c *Channel) endPreview(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.previews, id)
}
