package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/plugins"
)

// A reader hands what one socket brings to the inbox.
type reader struct {
	*Channel
	inbox *plugins.Inbox
	self  *identity
}

// An event is what happens in a channel, as far as the app reads it.
type event struct {
	Type        string       `json:"type"`
	Subtype     string       `json:"subtype"`
	User        string       `json:"user"`
	Bot         string       `json:"bot_id"`
	Text        string       `json:"text"`
	Channel     string       `json:"channel"`
	ChannelType string       `json:"channel_type"`
	Time        string       `json:"ts"`
	EventTime   string       `json:"event_ts"`
	Thread      string       `json:"thread_ts"`
	ParentUser  string       `json:"parent_user_id"`
	Hidden      bool         `json:"hidden"`
	Files       []sharedFile `json:"files"`
	Message     *event       `json:"message"`
	Previous    *event       `json:"previous_message"`
}

// handle takes what an envelope holds. What it returns is done once Slack knows that
// the envelope has arrived.
func (r *reader) handle(ctx context.Context, e envelope) (then func(), err error) {
	switch e.Type {
	case "hello":
		r.inbox.Connected(r.self.as())
	case "disconnect":
		if e.Reason == "link_disabled" {
			return nil, plugins.NoLogin(errors.New("socket mode is turned off; turn it on in the app's settings"))
		}
		return nil, fmt.Errorf("%w: %s", errRefresh, e.Reason)
	case "events_api":
		var payload struct {
			Event event `json:"event"`
		}
		_ = json.Unmarshal(e.Payload, &payload) // what cannot be read is no message
		return nil, r.event(ctx, payload.Event)
	case "interactive":
		return r.press(ctx, e.Payload)
	}
	return nil, nil
}

// event takes a message. Others are acknowledged and forgotten.
func (r *reader) event(ctx context.Context, e event) error {
	m, ok, err := r.message(ctx, e)
	if err != nil || !ok {
		return err
	}
	return r.take(ctx, m)
}

func (r *reader) take(ctx context.Context, m plugins.Received) error {
	err := r.inbox.Take(ctx, m)
	switch {
	case errors.Is(err, plugins.ErrTooLarge):
		_, err = r.post(ctx, m.Chat, arguments("thread_ts", m.Thread, "text", "Your message is too large, so I didn't get it. Please send a shorter one."))
		if _, permanent := errors.AsType[*plugins.PermanentError](err); permanent {
			return nil
		}
	case errors.Is(err, plugins.ErrMalformed):
		return nil
	}
	return err
}

// written are the subtypes of a message that a person has written.
var written = map[string]bool{"": true, "file_share": true, "thread_broadcast": true, "me_message": true}

// message makes a message of an event. One that mentions the app comes twice, as
// app_mention and as message; both have the same id.
func (r *reader) message(ctx context.Context, e event) (plugins.Received, bool, error) {
	if e.Type != "message" && e.Type != "app_mention" {
		return plugins.Received{}, false, nil
	}
	edits := ""
	if e.Subtype == "message_changed" {
		if e.Message == nil || (e.Previous != nil && e.Previous.Text == e.Message.Text) {
			return plugins.Received{}, false, nil // Slack shows a preview of a link
		}
		changed := *e.Message
		changed.Type, changed.Channel, changed.ChannelType, changed.EventTime = e.Type, e.Channel, e.ChannelType, e.EventTime
		edits = messageID(e.Channel, changed.Time)
		e = changed
	}
	// Other apps are not answered: two that do would never end.
	if !written[e.Subtype] || e.Bot != "" || e.User == "" || e.User == r.self.User || (e.Hidden && edits == "") {
		return plugins.Received{}, false, nil
	}
	m := plugins.Received{
		ID: messageID(e.Channel, e.Time), Edits: edits,
		From: e.User, Name: r.name(ctx, e.User),
		Chat: e.Channel, Group: group(e.Channel, e.ChannelType), Thread: e.Thread,
		Text: r.plain(ctx, e.Text), SentAt: moment(e.Time),
	}
	if edits != "" {
		m.ID = edits + ":" + e.EventTime
	}
	m.Mentioned = e.Type == "app_mention" || strings.Contains(e.Text, "<@"+r.self.User) || e.ParentUser == r.self.User
	for _, f := range e.Files {
		file, err := r.load(ctx, f)
		if err != nil {
			return m, false, err
		}
		m.Files = append(m.Files, file)
	}
	return m, m.Text != "" || len(m.Files) > 0, nil
}

// messageID names a message: Slack counts by channel.
func messageID(channel, ts string) string { return channel + ":" + ts }

// group reports whether a channel is more than the chat with one person.
func group(channel, kind string) bool {
	if kind != "" {
		return kind != "im"
	}
	return !strings.HasPrefix(channel, "D")
}

// moment is the time in a message's ts.
func moment(ts string) time.Time {
	seconds, err := strconv.ParseFloat(ts, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}

const (
	// nameWithin is how long a message waits for a name: Slack waits 3 s for its acknowledgement.
	nameWithin = 2 * time.Second
	// namesAgain is after how long names are asked for again when Slack did not answer.
	namesAgain = 30 * time.Second
)

// name is what people call a person; empty when the app may not know, and when Slack does not
// say it soon: the messages of all wait for it.
func (c *Channel) name(ctx context.Context, user string) string {
	c.mu.Lock()
	name, known := c.names[user]
	nameless := time.Now().Before(c.nameless)
	c.mu.Unlock()
	if known || nameless {
		return name
	}
	within, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	var info struct {
		User struct {
			Name    string `json:"name"`
			Real    string `json:"real_name"`
			Profile struct {
				Display string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	err := c.call(within, "users.info", arguments("user", user), &info)
	if err != nil && !forGood(err) {
		if _, answered := errors.AsType[*apiError](err); !answered && ctx.Err() == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.nameless = time.Now().Add(namesAgain)
		}
		return "" // it is asked for again with the next message
	}
	for _, candidate := range []string{info.User.Name, info.User.Real, info.User.Profile.Display} {
		if candidate != "" {
			name = candidate
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[user] = name
	return name
}
