package slack

import (
	"context"
	"net/url"
	"strings"

	"agenthost/plugins"
)

// A stream is a preview to which Slack adds text, as it shows the answers of
// assistants. It is one in a thread; elsewhere a preview is a message that is edited.
type stream struct {
	text  string // what was sent
	ended bool   // it is an ordinary message by now
}

// streamSize is how much text a stream takes at once.
const streamSize = 12_000

// Preview shows what is written so far.
func (c *Channel) Preview(ctx context.Context, to plugins.Place, id, text string) (string, error) {
	channel, err := c.resolve(ctx, to)
	if err != nil {
		return id, err
	}
	if id == "" {
		ts, err := c.begin(ctx, channel, to, text)
		if err != nil {
			return "", err
		}
		return messageID(channel, ts), nil
	}
	c.mu.Lock()
	s := c.streams[id]
	c.mu.Unlock()
	if s != nil && !s.ended {
		switch grown := streamed(text); {
		case strings.HasPrefix(s.text, grown): // nothing new that is sure
			return id, nil
		case strings.HasPrefix(grown, s.text) && length(grown) <= streamSize:
			return id, c.add(ctx, channel, id, s, grown)
		}
	}
	return id, c.settlePreview(ctx, channel, id, arguments("text", text))
}

// begin starts a preview: a stream where Slack has them.
func (c *Channel) begin(ctx context.Context, channel string, to plugins.Place, text string) (string, error) {
	c.mu.Lock()
	streams := !c.noStream && to.Thread != "" && to.To != ""
	c.mu.Unlock()
	if !streams {
		return c.post(ctx, channel, arguments("text", text, "thread_ts", to.Thread))
	}
	begun := streamed(text)
	var started struct {
		Time string `json:"ts"`
	}
	team := ""
	if self := c.self.Load(); self != nil {
		team = self.ID
	}
	err := c.call(ctx, "chat.startStream", arguments("channel", channel, "thread_ts", to.Thread, "markdown_text", begun,
		"recipient_user_id", to.To, "recipient_team_id", team), &started)
	if word := code(err); word != "" && word != "ratelimited" && !transient[word] {
		c.mu.Lock()
		c.noStream = true
		c.mu.Unlock()
		return c.begin(ctx, channel, to, text)
	}
	if err != nil {
		return "", deliveryError(err, channel)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams[messageID(channel, started.Time)] = &stream{text: begun}
	return started.Time, nil
}

// streamed is what of a text is sure to stay as it is when more is written. Streams
// take Markdown: what Limits.Render has made of it is turned back.
func streamed(text string) string {
	text = strings.TrimSuffix(text, "\n```") // it closes a block that may go on
	end := strings.LastIndexByte(text, '\n') + 1
	var b strings.Builder
	for i, part := range strings.Split(text[:end], "```") {
		switch {
		case i > 0:
			b.WriteString("```")
			fallthrough
		default:
			if i%2 == 0 {
				part = asMarkdown(part)
			}
			b.WriteString(unescaped.Replace(part))
		}
	}
	return b.String()
}

// add sends what is new to a stream.
func (c *Channel) add(ctx context.Context, channel, id string, s *stream, text string) error {
	err := c.call(ctx, "chat.appendStream", arguments("channel", channel, "ts", timeOf(id), "markdown_text", text[len(s.text):]), nil)
	if code(err) == "message_not_in_streaming_state" { // Slack has ended it
		s.ended = true
		return nil
	}
	if err == nil {
		s.text = text
	}
	return deliveryError(err, channel)
}

// settle puts the reply in the place of a preview.
func (c *Channel) settle(ctx context.Context, channel, id string, content url.Values) error {
	err := c.settlePreview(ctx, channel, id, content)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams, id)
	}
	return err
}

// settlePreview ends a stream, if it is one, and puts content in its place.
func (c *Channel) settlePreview(ctx context.Context, channel, id string, content url.Values) error {
	c.mu.Lock()
	s := c.streams[id]
	c.mu.Unlock()
	if s != nil && !s.ended {
		if err := c.stopStream(ctx, channel, id); err != nil {
			return err
		}
		s.ended = true
	}
	err := c.update(ctx, channel, timeOf(id), content)
	if code(err) != "streaming_state_conflict" {
		return err
	}
	// A host that has died began the stream.
	if err := c.stopStream(ctx, channel, id); err != nil {
		return err
	}
	return c.update(ctx, channel, timeOf(id), content)
}

func (c *Channel) stopStream(ctx context.Context, channel, id string) error {
	err := c.call(ctx, "chat.stopStream", arguments("channel", channel, "ts", timeOf(id)), nil)
	if code(err) == "message_not_in_streaming_state" {
		return nil
	}
	return deliveryError(err, channel)
}

// timeOf is the ts in the id of a message.
func timeOf(id string) string {
	_, ts, _ := strings.Cut(id, ":")
	return ts
}
