package discord

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

const defaultAPI = "https://discord.com"

// What Discord takes.
const (
	maxText    = 2000     // counted in UTF-16 units, never fewer than Discord counts
	maxUpload  = 10 << 20 // bytes, in a server without boosts
	maxButtons = 25
)

// A Channel is one bot.
type Channel struct {
	settings settings.Discord
	api      *api

	mu    sync.Mutex
	bot   user              // zero: not asked yet
	rooms map[string]room   // channels by id
	dms   map[string]string // private channels by person
	roles map[string]bool   // roles that stand for the bot
	tries map[string]int    // of a message whose files could not be loaded
}

var _ plugins.Channel = (*Channel)(nil)

// New makes a channel of a bot. It connects to nothing.
func New(s settings.Discord) (plugins.Channel, error) {
	s.Token = strings.TrimPrefix(s.Token, "Bot ")
	if s.Token == "" || strings.ContainsAny(s.Token, " \t\r\n") {
		return nil, errors.New("token: want the one of the bot, from the developer portal (Bot, Reset Token)")
	}
	return &Channel{
		settings: s, api: newAPI(cmp.Or(s.API, defaultAPI), s.Token),
		rooms: map[string]room{}, dms: map[string]string{}, roles: map[string]bool{}, tries: map[string]int{},
	}, nil
}

// Limits are those of a bot.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{
		Text: maxText, Measure: measure, Render: dialect.Render,
		File: maxUpload, Buttons: maxButtons,
		Typing: 9 * time.Second, Preview: 1500 * time.Millisecond,
		Idempotent: true,
	}
}

func measure(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// Check logs in once and says under which name.
func (c *Channel) Check(ctx context.Context) (as string, err error) {
	bot, err := c.self(ctx)
	return bot.Username, err
}

// self is the bot's own user.
func (c *Channel) self(ctx context.Context) (user, error) {
	var bot user
	if err := c.api.call(ctx, http.MethodGet, "/users/@me", nil, &bot); err != nil {
		return user{}, err
	}
	if bot.ID == "" {
		return user{}, errors.New("discord /users/@me: the answer names no user: check the address of the API")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bot = bot
	return bot, nil
}

// me is what self has found.
func (c *Channel) me() user {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bot
}
