package httpauth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"time"

	"agenthost/internal/httpauth"
)

// What a cookie says of its end is proven with the rest of it: its holder does not prolong it.
func TestCookieIsNotProlonged(t *testing.T) {
	h := handler(httpauth.Options{Listen: "0.0.0.0:8080", Tokens: issued})
	c := logIn(t, h, "eye-secret")
	parts := strings.Split(c.Value, ".")
	if len(parts) != 3 {
		t.Fatalf("got cookie %q", c.Value)
	}
	parts[1] = strconv.FormatInt(time.Now().AddDate(10, 0, 0).Unix(), 10)
	if res := ask(h, "GET", "/look", "", map[string]string{"Cookie": c.Name + "=" + strings.Join(parts, ".")}); res.StatusCode != 401 {
		t.Errorf("got %d %s", res.StatusCode, res.Body)
	}
}

// A token that was made by command lets in as who it is, until it is revoked, and as no other
// that the configuration has.
func TestTokenMadeByCommand(t *testing.T) {
	made := map[string]httpauth.Token{
		"made-1": {Name: "night", Role: httpauth.Read},
		"made-2": {Name: "shop", Role: httpauth.Admin},
		"made-3": {Name: httpauth.Operator, Role: httpauth.Admin},
	}
	h := handler(httpauth.Options{
		Listen: "0.0.0.0:8080", Tokens: append(issued, httpauth.Token{Name: "unset", Role: httpauth.Admin}, httpauth.Token{Name: httpauth.Operator, Token: "fake", Role: httpauth.Admin}),
		Issued: func(sent string, _ time.Time) (httpauth.Token, bool, error) {
			token, ok := made[sent]
			return token, ok, nil
		},
	})
	look := func(header, value string) int {
		return ask(h, "GET", "/look", "", map[string]string{header: value}).StatusCode
	}
	c := logIn(t, h, "made-1")
	for sent, want := range map[string]int{"made-1": 200, "made-2": 401, "made-3": 401, "made-4": 401, "fake": 401, "": 401} {
		if got := look("Authorization", "Bearer "+sent); got != want {
			t.Errorf("%q: got %d, want %d", sent, got, want)
		}
		if got := look("Cookie", c.Name+"=issued:"+sent); got != want {
			t.Errorf("the cookie for %q: got %d, want %d", sent, got, want)
		}
	}
	content := base64.RawURLEncoding.EncodeToString([]byte("unset")) + "." + strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	proof := hmac.New(sha256.New, nil)
	proof.Write([]byte("agenthost login\x00" + content))
	if got := look("Cookie", c.Name+"="+content+"."+base64.RawURLEncoding.EncodeToString(proof.Sum(nil))); got != 401 {
		t.Errorf("the cookie for a token without a value: got %d", got)
	}
	delete(made, "made-1")
	if got := look("Cookie", c.Name+"="+c.Value); got != 401 {
		t.Errorf("the cookie of a token that was revoked: got %d", got)
	}
}

// The form for a token is in no other page, nor kept, and is no door for large requests.
func TestLoginFormIsGuarded(t *testing.T) {
	h := handler(httpauth.Options{Listen: "0.0.0.0:8080", Tokens: issued})
	res := ask(h, "GET", "/login", "", nil)
	if res.StatusCode != 200 || !strings.Contains(res.Body, "<form") {
		t.Fatalf("got %d %s", res.StatusCode, res.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html", "Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := res.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	if res := ask(h, "POST", "/login", "token=eye-secret&x="+strings.Repeat("x", 16<<10), form); res.StatusCode != 413 || len(res.cookies) > 0 {
		t.Errorf("too large: got %d %s", res.StatusCode, res.Body)
	}
	if res := ask(h, "GET", "/look", "", nil); res.Header.Get("Cache-Control") != "no-store" || !strings.Contains(res.Header.Get("Content-Type"), "json") {
		t.Errorf("a refusal: got %v", res.Header)
	}
}
