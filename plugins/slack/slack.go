// Package slack is a Slack app in socket mode as a channel.
//
// It speaks the Web API over HTTP, and reads events over a WebSocket that the app
// opens, so that Slack needs no way to the host.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A Channel is one app in one workspace.
type Channel struct {
	settings settings.Slack
	api      api
	self     atomic.Pointer[identity] // nil until Run has logged in

	mu        sync.Mutex
	names     map[string]string  // of people, by their id
	nameless  time.Time          // until when no names are asked for
	direct    map[string]string  // the channel with a person, by their id
	streams   map[string]*stream // previews that Slack streams, by message
	noStream  bool               // the workspace does not stream
	noStatus  bool               // it shows no status
	uncertain map[string]bool    // keys of messages that may have arrived
}

// An identity is the app's own user.
type identity struct {
	User string `json:"user_id"`
	Name string `json:"user"`
	Bot  string `json:"bot_id"`
	Team string `json:"team"`
	ID   string `json:"team_id"`
}

var _ plugins.Channel = (*Channel)(nil)

const defaultAPI = "https://slack.com/api/"

// New makes a channel from settings.
func New(s settings.Slack) (plugins.Channel, error) {
	base, err := url.Parse(strings.TrimRight(cmp.Or(s.API, defaultAPI), "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("api %q: want an address such as %s", s.API, defaultAPI)
	}
	switch {
	case s.AppToken == "":
		return nil, errors.New("set app_token: an app-level token (xapp-…) with connections:write")
	case s.BotToken == "":
		return nil, errors.New("set bot_token: the token (xoxb-…) of the app in your workspace")
	case strings.HasPrefix(s.AppToken, "xoxb-") || strings.HasPrefix(s.BotToken, "xapp-"):
		return nil, errors.New("app_token and bot_token: one is in the other's place")
	}
	return &Channel{
		settings: s,
		api:      api{base: base, http: &http.Client{Transport: httptransport.New(), Timeout: requestTime}},
		names:    map[string]string{}, direct: map[string]string{}, streams: map[string]*stream{}, uncertain: map[string]bool{},
	}, nil
}

const (
	// textSize is what chat.update takes; chat.postMessage takes ten times as much.
	textSize = 3900

	buttonLimit   = 25
	typingEvery   = 30 * time.Second // Slack takes a status back after two minutes
	previewsEvery = time.Second
)

// Limits are those of Slack.
func (c *Channel) Limits() plugins.Limits {
	return plugins.Limits{
		Text:    textSize,
		Measure: length,
		Render:  mrkdwn.Render,
		File:    int64(cmp.Or(c.settings.MaxFile, settings.DefaultMaxFile)),
		Buttons: buttonLimit,
		Typing:  typingEvery,
		Preview: previewsEvery,
	}
}

// A socket that is renewed within renewedSoon is one too many after mostRenewals of them.
const (
	renewedSoon  = 10 * time.Second
	mostRenewals = 3
)

// Run logs in and reads events from one socket after the other: Slack renews them
// every few hours. Where it renews each at once, as when an app has too many, the next login
// comes after a pause.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error {
	self, err := c.login(ctx)
	if err != nil {
		return err
	}
	c.self.Store(self)
	for soon := 0; ; {
		began := time.Now()
		err := c.serve(ctx, in, self)
		if !errors.Is(err, errRefresh) {
			return err
		}
		if time.Since(began) >= renewedSoon {
			soon = 0
			continue
		}
		if soon++; soon == mostRenewals {
			return err
		}
	}
}

func (c *Channel) login(ctx context.Context) (*identity, error) {
	var self identity
	if err := c.call(ctx, "auth.test", nil, &self); err != nil {
		return nil, loginError(fmt.Errorf("log in: %w", err))
	}
	return &self, nil
}

// Check logs in once, with both tokens, and returns the names of the app's user and
// of the workspace.
func (c *Channel) Check(ctx context.Context) (as string, err error) {
	self, err := c.login(ctx)
	if err != nil {
		return "", err
	}
	if _, err := c.socketAddress(ctx); err != nil {
		return "", err
	}
	return self.as(), nil
}

func (i *identity) as() string { return i.Name + " in " + i.Team }

// call calls a method of the Web API as the app's user.
func (c *Channel) call(ctx context.Context, method string, arguments url.Values, result any) error {
	return c.api.call(ctx, c.settings.BotToken, method, arguments, result)
}

// length counts a text as Slack does, in UTF-16.
func length(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
