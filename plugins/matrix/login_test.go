package matrix_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/matrix"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		settings settings.Matrix
		want     string // in the error; empty: none
	}{
		"password":             {settings.Matrix{Homeserver: "https://hs.test", User: "bot", Password: "p"}, ""},
		"token":                {settings.Matrix{Homeserver: "https://hs.test/", Token: "t"}, ""},
		"no homeserver":        {settings.Matrix{Token: "t"}, "homeserver"},
		"a name alone":         {settings.Matrix{Homeserver: "hs.test", Token: "t"}, "https://"},
		"no password":          {settings.Matrix{Homeserver: "https://hs.test", User: "bot"}, "password"},
		"token and password":   {settings.Matrix{Homeserver: "https://hs.test", Token: "t", User: "bot", Password: "p"}, "one of them"},
		"nothing to log in by": {settings.Matrix{Homeserver: "https://hs.test"}, "set token"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := matrix.New(tt.settings)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("New: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	tests := map[string]struct {
		settings settings.Matrix
		as       string
	}{
		"password":       {settings.Matrix{Homeserver: h.URL, User: "bot", Password: "secret"}, h.bot},
		"token":          {settings.Matrix{Homeserver: h.URL, Token: h.AddToken(h.bot)}, h.bot},
		"wrong password": {settings.Matrix{Homeserver: h.URL, User: "bot", Password: "x"}, ""},
		"wrong token":    {settings.Matrix{Homeserver: h.URL, Token: "x"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			as, err := newChannel(t, tt.settings).(*matrix.Channel).Check(t.Context())
			if as != tt.as {
				t.Errorf("Check: got %q, %v, want %q", as, err, tt.as)
			}
			if _, login := errors.AsType[*plugins.LoginError](err); login != (tt.as == "") {
				t.Errorf("Check: %v", err)
			}
		})
	}
	if _, err := newChannel(t, settings.Matrix{Homeserver: "http://127.0.0.1:1", Token: "t"}).(*matrix.Channel).Check(t.Context()); err == nil {
		t.Error("Check: no error where there is no homeserver")
	}
}

func TestTokenThatEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	h.Revoke()
	h.Say(room, h.ana, "still there?")
	h.host.Inbound(1)
	if n := h.Logins(); n != 2 {
		t.Errorf("the password was used %d times, want 2", n)
	}
	if devices := h.Devices(h.bot); len(devices) != 1 {
		t.Errorf("the bot has the devices %q, want the first one again", devices)
	}
}

func TestGivenTokenThatEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.settings = settings.Matrix{Homeserver: h.URL, Token: h.AddToken(h.bot)}
	h.start(t)
	h.Revoke()
	waittest.Until(t, "the account is refused", func() bool {
		s := h.host.Courier.Status()
		return s.State == plugins.StateRefused && strings.Contains(s.LastError, "token")
	})
}

func TestHomeserverThatFails(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"/login", "/sync", "/joined_members", "/messages"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			room := h.Room(h.ana, h.bot)
			ch := newChannel(t, h.settings)
			method := http.MethodGet
			if part == "/login" {
				method = http.MethodPost
				h.FailNext(1, method, part, http.StatusInternalServerError, "M_UNKNOWN", "Internal server error")
			}
			h.host = plugintest.NewHost(t, ch, settings.Account{})
			h.FailNext(1, method, part, http.StatusInternalServerError, "M_UNKNOWN", "Internal server error")
			for range 60 {
				h.Say(room, h.ana, "hello")
			}
			if n := len(h.host.Inbound(60)); n != 60 {
				t.Errorf("the agent got %d messages, want 60", n)
			}
		})
	}
}
