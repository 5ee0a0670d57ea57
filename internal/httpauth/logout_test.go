package httpauth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/internal/httpauth"
)

// A copy of a cookie ends with its login; another login of the same token goes on.
func TestLogoutEndsItsLogin(t *testing.T) {
	ended := map[string]time.Time{}
	var fault, starting error
	h := handler(httpauth.Options{
		Listen: "127.0.0.1:8080", Token: "all-secret", Tokens: issued,
		LogOut: func(_ context.Context, login string, until time.Time) error {
			if fault == nil {
				ended[login] = until
			}
			return fault
		},
		LoggedOut: func(login string) (bool, error) { _, ok := ended[login]; return ok, starting },
	})
	c, other := logIn(t, h, "desk-secret"), logIn(t, h, "eye-secret")
	with := func(c *http.Cookie) map[string]string { return map[string]string{"Cookie": c.Name + "=" + c.Value} }
	fault = errors.New("NATS is away")
	if res := ask(h, "POST", "/logout", "", with(c)); res.StatusCode != 503 || len(res.cookies) != 1 || !strings.Contains(res.Body, "NATS is away") {
		t.Errorf("without NATS: got %d %s", res.StatusCode, res.Body)
	}
	fault = nil
	for range 2 {
		if res := ask(h, "POST", "/logout", "", with(c)); res.StatusCode != http.StatusSeeOther {
			t.Errorf("got %d %s", res.StatusCode, res.Body)
		}
	}
	if res := ask(h, "GET", "/look", "", with(c)); res.StatusCode != 401 {
		t.Errorf("the cookie after the logout: got %d", res.StatusCode)
	}
	if res := ask(h, "GET", "/look", "", with(other)); res.StatusCode != 200 {
		t.Errorf("another login: got %d", res.StatusCode)
	}
	if len(ended) != 1 {
		t.Errorf("ended: %v", ended)
	}
	starting = httpauth.ErrStarting
	for name, header := range map[string]map[string]string{"ended": with(c), "other": with(other)} {
		if res := ask(h, "GET", "/look", "", header); res.StatusCode != 503 || !strings.Contains(res.Body, "starting") {
			t.Errorf("a host that does not know yet what was ended, and the cookie of the %s login: got %d %s", name, res.StatusCode, res.Body)
		}
	}
	if res := ask(h, "GET", "/look", "", map[string]string{"Authorization": "Bearer desk-secret"}); res.StatusCode != 200 {
		t.Errorf("a token at such a host: got %d %s", res.StatusCode, res.Body)
	}
	starting = nil
	for login, until := range ended {
		if strings.Contains(c.Value, login) || until.Before(c.Expires) {
			t.Errorf("%s is kept until %v, and the cookie counts until %v", login, until, c.Expires)
		}
	}
	for _, value := range []string{"", "issued:x", "a.b.c"} {
		if res := ask(h, "POST", "/logout", "", map[string]string{"Cookie": c.Name + "=" + value}); res.StatusCode != http.StatusSeeOther || len(ended) != 1 {
			t.Errorf("the cookie %q: got %d, ended %v", value, res.StatusCode, ended)
		}
	}
}

// Logins of one second are apart: a logout ends its own.
func TestLoginsOfOneSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(httpauth.Options{Listen: "127.0.0.1:8080", Tokens: issued})
		values := map[string]bool{}
		for range 4 { // two may be the same by chance
			c := logIn(t, h, "desk-secret")
			values[c.Value] = true
			if left := time.Until(c.Expires); left > 30*24*time.Hour || left < 29*24*time.Hour {
				t.Errorf("the login ends in %s", left)
			}
		}
		if len(values) < 2 {
			t.Errorf("all have the cookie %v", values)
		}
	})
}
