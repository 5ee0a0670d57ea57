package discord

import (
	"context"
	"encoding/json"
	"errors"

	"agenthost/plugins"
)

// handleAll handles the queued events, one after the other. A number counts as read
// when its event is done.
func (c *connection) handleAll(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-c.events:
			message, err := c.handle(ctx, f)
			if err != nil {
				return err
			}
			c.session.read(f.Seq, message)
			if message == "" && f.Type != "READY" && f.Type != "INTERACTION_CREATE" {
				continue // it does no harm when it comes again
			}
			if err := c.session.save(ctx, c.inbox); err != nil {
				return err
			}
		}
	}
}

// handle handles an event. It returns the id of the message that was taken.
func (c *connection) handle(ctx context.Context, f frame) (message string, err error) {
	switch f.Type {
	case "READY":
		return "", c.ready(ctx, f.Data)
	case "RESUMED":
		c.inbox.Connected(c.channel.me().Username)
	case "GUILD_CREATE":
		return "", c.joined(ctx, f.Data)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		if r, ok := decode[room](f.Data); ok {
			c.channel.keepRoom(r)
		}
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		m, ok := decode[messageEvent](f.Data)
		if !ok {
			return "", nil
		}
		return m.ID, c.take(ctx, &m.message, f.Type == "MESSAGE_UPDATE")
	case "INTERACTION_CREATE":
		if i, ok := decode[interaction](f.Data); ok && i.Type == typeComponent {
			return "", c.pressed(ctx, i)
		}
	}
	return "", nil
}

type messageEvent struct{ message }

// decode reads the data of an event. One of a shape that is not known is left out: it
// would come again for ever.
func decode[T any](data []byte) (v T, ok bool) {
	return v, json.Unmarshal(data, &v) == nil
}

// ready is the answer to a login that began a new session.
func (c *connection) ready(ctx context.Context, data []byte) error {
	r, _ := decode[struct {
		SessionID string `json:"session_id"`
		URL       string `json:"resume_gateway_url"`
	}](data)
	c.session.begin(r.SessionID, r.URL)
	c.inbox.Connected(c.channel.me().Username)
	if c.session.missed() == "" {
		return nil
	}
	for _, id := range c.session.private() {
		if err := c.catchUp(ctx, room{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// joined learns the rooms of a server, and the roles that stand for the bot.
func (c *connection) joined(ctx context.Context, data []byte) error {
	g, _ := decode[guild](data)
	ch := c.channel
	for _, r := range g.Roles {
		if r.Tags.BotID != "" && r.Tags.BotID == ch.me().ID {
			ch.mu.Lock()
			ch.roles[r.ID] = true
			ch.mu.Unlock()
		}
	}
	for _, r := range append(g.Channels, g.Threads...) {
		r.GuildID = g.ID
		ch.keepRoom(r)
		if missed := c.session.missed(); missed != "" && later(r.LastMessageID, missed) {
			if err := c.catchUp(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// take hands a message to the inbox.
func (c *connection) take(ctx context.Context, m *message, edited bool) error {
	r, err := c.channel.received(ctx, c.inbox, m, edited)
	if err != nil || r.From == "" {
		return err
	}
	if !r.Group {
		c.session.remember(m.ChannelID)
	}
	return final(c.inbox.Take(ctx, r))
}

// final is err, unless the message can never be taken: then it is over.
func final(err error) error {
	if errors.Is(err, plugins.ErrMalformed) || errors.Is(err, plugins.ErrTooLarge) {
		return nil
	}
	return err
}
