package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

const defaultAPI = "https://api.telegram.org"

// What Telegram takes.
const (
	maxText     = 4096     // UTF-16 units, markup not counted
	maxCaption  = 1024     // the same
	maxUpload   = 50 << 20 // bytes
	maxDownload = 20 << 20
	maxButtons  = 100
)

// A Channel is one bot.
type Channel struct {
	settings settings.Telegram
	api      *api

	mu       sync.Mutex
	bot      user             // zero: not asked yet
	moved    map[string]int64 // groups that are supergroups now, by their old id
	noDraft  bool             // the API has no drafts
	previews map[string]time.Time
	unread   failedUpdate
}

var _ plugins.Receiver = (*Channel)(nil)

// New makes a channel of a bot. It connects to nothing.
func New(s settings.Telegram) (plugins.Channel, error) {
	if id, secret, ok := strings.Cut(s.Token, ":"); !ok || id == "" || secret == "" || strings.ContainsAny(s.Token, "/?# \t\r\n") {
		return nil, errors.New("token: want the one that BotFather gave for this bot, such as 123456789:AAE…")
	}
	return &Channel{
		settings: s,
		api:      newAPI(cmp.Or(s.API, defaultAPI), s.Token),
		moved:    map[string]int64{},
		previews: map[string]time.Time{},
	}, nil
}

// Limits are those of the Bot API.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{
		Text: maxText, Measure: measure, Render: dialect.Render,
		File: maxUpload, Buttons: maxButtons,
		Typing: 4500 * time.Millisecond, Preview: time.Second,
	}
}

// Check logs in once and says under which name.
func (c *Channel) Check(ctx context.Context) (as string, err error) {
	var bot user
	if err := c.api.call(ctx, "getMe", nil, &bot); err != nil {
		return "", verdict(err, false)
	}
	return "@" + bot.Username, nil
}

// Run logs in and takes updates until ctx ends.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error {
	bot, err := c.self(ctx)
	if err != nil {
		return err
	}
	if c.settings.Webhook != "" {
		return c.holdWebhook(ctx, in, bot)
	}
	if err := c.api.call(ctx, "deleteWebhook", params{}, nil); err != nil {
		return verdict(err, false)
	}
	in.Connected("@" + bot.Username)
	return c.poll(ctx, in)
}

// self is the bot's own user.
func (c *Channel) self(ctx context.Context) (user, error) {
	c.mu.Lock()
	bot := c.bot
	c.mu.Unlock()
	if bot.ID != 0 {
		return bot, nil
	}
	if err := c.api.call(ctx, "getMe", params{}, &bot); err != nil {
		return user{}, verdict(err, false)
	}
	if bot.ID == 0 {
		return user{}, fmt.Errorf("telegram getMe: the answer names no bot: check the address of the API")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bot = bot
	return bot, nil
}
