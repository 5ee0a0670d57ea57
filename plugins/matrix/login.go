package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"agenthost/plugins"
)

// noteLogin keeps the login of a user with a password. The homeserver knows a
// message that is sent again only from the same device.
const noteLogin = "login"

type savedLogin struct {
	Homeserver string `json:"homeserver"`
	User       string `json:"user"` // as the settings name it
	Token      string `json:"token"`
	Device     string `json:"device"`
}

// open logs in by the token of the settings, by the one that was kept, or by the
// password.
func (c *Channel) open(ctx context.Context, in *plugins.Inbox) (*client, error) {
	if c.settings.Token != "" {
		return c.identify(ctx, c.settings.Token)
	}
	saved, err := c.savedLogin(ctx, in)
	if err != nil {
		return nil, err
	}
	if saved.Token != "" {
		cl, err := c.identify(ctx, saved.Token)
		if code(err) != "M_UNKNOWN_TOKEN" {
			return cl, err
		}
	}
	cl, err := c.passwordLogin(ctx, saved.Device)
	if err != nil {
		return nil, err
	}
	note, err := json.Marshal(savedLogin{Homeserver: c.base, User: c.settings.User, Token: cl.token, Device: cl.device})
	if err != nil {
		return nil, err
	}
	if err := in.SetNote(ctx, noteLogin, note); err != nil {
		return nil, fmt.Errorf("keep the login: %w", err)
	}
	return cl, nil
}

// savedLogin is the login that was kept for the user of the settings.
func (c *Channel) savedLogin(ctx context.Context, in *plugins.Inbox) (savedLogin, error) {
	note, err := in.Note(ctx, noteLogin)
	if err != nil {
		return savedLogin{}, fmt.Errorf("read the login: %w", err)
	}
	var saved savedLogin
	_ = json.Unmarshal(note, &saved) // a broken note counts as missing
	if saved.Homeserver != c.base || saved.User != c.settings.User {
		return savedLogin{}, nil // of other settings
	}
	return saved, nil
}

// identify asks the homeserver whose token it is.
func (c *Channel) identify(ctx context.Context, token string) (*client, error) {
	cl := &client{base: c.base, http: c.http, token: token}
	var who struct {
		User   string `json:"user_id"`
		Device string `json:"device_id"`
	}
	if err := cl.call(ctx, http.MethodGet, path("account", "whoami"), nil, nil, &who); err != nil {
		return nil, loginError(err)
	}
	cl.user, cl.device = who.User, who.Device
	return cl, nil
}

func (c *Channel) passwordLogin(ctx context.Context, device string) (*client, error) {
	cl := &client{base: c.base, http: c.http}
	request := map[string]any{
		"type":                        "m.login.password",
		"identifier":                  map[string]string{"type": "m.id.user", "user": c.settings.User},
		"password":                    c.settings.Password,
		"initial_device_display_name": "agenthost",
	}
	if device != "" {
		request["device_id"] = device
	}
	var login struct {
		User   string `json:"user_id"`
		Token  string `json:"access_token"`
		Device string `json:"device_id"`
	}
	if err := cl.call(ctx, http.MethodPost, path("login"), nil, request, &login); err != nil {
		if code(err) == "M_FORBIDDEN" {
			return nil, plugins.NoLogin(fmt.Errorf("log in as %s: %w; check user and password", c.settings.User, err))
		}
		return nil, loginError(err)
	}
	cl.user, cl.token, cl.device = login.User, login.Token, login.Device
	return cl, nil
}

// Check logs in once and returns the Matrix ID of the account.
func (c *Channel) Check(ctx context.Context) (as string, err error) {
	if c.settings.Token != "" {
		cl, err := c.identify(ctx, c.settings.Token)
		if err != nil {
			return "", err
		}
		return cl.user, nil
	}
	cl, err := c.passwordLogin(ctx, "")
	if err != nil {
		return "", err
	}
	// The device was for this check alone.
	_ = cl.call(ctx, http.MethodPost, path("logout"), nil, struct{}{}, nil)
	return cl.user, nil
}
