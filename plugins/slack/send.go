package slack

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"agenthost/plugins"
)

// Deliver sends a message. Slack has no key by which it would know one again.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	channel, err := c.resolve(ctx, m.Place)
	if err != nil {
		return "", err
	}
	if m.File != nil && len(m.File.Data) > 0 {
		return c.share(ctx, channel, m)
	}
	text := m.Text
	if m.File != nil {
		text = strings.TrimSpace(text + "\n" + escape(strings.TrimSpace(m.File.Name+" "+m.File.URL)))
	}
	content := arguments("text", text, "thread_ts", m.Thread)
	if len(m.Buttons) > 0 {
		content.Set("blocks", inJSON(layout(text, m.Buttons)))
	}
	if m.Preview != "" {
		err := c.settle(ctx, channel, m.Preview, content)
		if !gone[code(err)] {
			return m.Preview, err
		}
		content.Set("thread_ts", m.Thread)
	}
	ts, err := c.once(ctx, channel, m.Key, content)
	if err != nil {
		return "", err
	}
	return messageID(channel, ts), nil
}

// gone are the words for a preview that nothing can take the place of: then the
// message is one of its own.
var gone = map[string]bool{"message_not_found": true, "cant_update_message": true, "edit_window_closed": true}

// resolve is the channel of a place.
func (c *Channel) resolve(ctx context.Context, to plugins.Place) (string, error) {
	if to.Chat != "" {
		return to.Chat, nil
	}
	if !strings.HasPrefix(to.To, "U") && !strings.HasPrefix(to.To, "W") {
		if to.To == "" {
			return "", plugins.Permanent(fmt.Errorf("no recipient: want a channel such as C0123456789, or a person such as U0123456789"))
		}
		return to.To, nil
	}
	c.mu.Lock()
	channel := c.direct[to.To]
	c.mu.Unlock()
	if channel != "" {
		return channel, nil
	}
	var opened struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	if err := c.call(ctx, "conversations.open", arguments("users", to.To), &opened); err != nil {
		return "", deliveryError(err, to.To)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.direct[to.To] = opened.Channel.ID
	return opened.Channel.ID, nil
}

// post sends a message and returns its time, which is its name in the channel.
func (c *Channel) post(ctx context.Context, channel string, content url.Values) (string, error) {
	content.Set("channel", channel)
	content.Set("unfurl_links", "false")
	content.Set("unfurl_media", "false")
	var sent struct {
		Time string `json:"ts"`
	}
	if err := c.call(ctx, "chat.postMessage", content, &sent); err != nil {
		return "", deliveryError(err, channel)
	}
	return sent.Time, nil
}

// update puts content in the place of a message.
func (c *Channel) update(ctx context.Context, channel, ts string, content url.Values) error {
	content.Set("channel", channel)
	content.Set("ts", ts)
	content.Del("thread_ts")
	return deliveryError(c.call(ctx, "chat.update", content, nil), channel)
}

// Typing shows a status in a thread with the app as an assistant. Slack has none
// elsewhere.
func (c *Channel) Typing(ctx context.Context, to plugins.Place) error {
	c.mu.Lock()
	none := c.noStatus
	c.mu.Unlock()
	if none || to.Chat == "" || to.Thread == "" {
		return nil
	}
	err := c.call(ctx, "assistant.threads.setStatus", arguments("channel_id", to.Chat, "thread_ts", to.Thread, "status", "is typing…"), nil)
	switch code(err) {
	case "missing_scope", "unknown_method", "not_allowed_token_type", "no_permission", "feature_not_enabled":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.noStatus = true
		return nil
	case "channel_not_found", "invalid_arguments", "thread_not_found", "message_not_found":
		return nil // this thread has no status
	}
	return deliveryError(err, to.Chat)
}
