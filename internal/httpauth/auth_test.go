package httpauth_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/internal/httpauth"
)

var issued = []httpauth.Token{
	{Name: "desk", Token: "desk-secret", Role: httpauth.Admin},
	{Name: "eye", Token: "eye-secret", Role: httpauth.Read},
	{Name: "shop", Token: "shop-secret", Role: httpauth.Chat, Agents: []string{"ana"}},
}

// handler serves /chat for those who chat and /look for those who look, each with
// the caller's name.
func handler(opt httpauth.Options) http.Handler {
	a := httpauth.New(opt)
	mux := http.NewServeMux()
	a.Mount(mux)
	say := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := httpauth.CallerOf(r.Context())
		_, _ = io.WriteString(w, c.Name)
		if c.Reaches("ana") {
			_, _ = io.WriteString(w, " ana")
		}
		if c.Reaches("bob") {
			_, _ = io.WriteString(w, " bob")
		}
	})
	mux.Handle("/chat", a.Require(say, httpauth.Chat))
	mux.Handle("/look", a.Require(say, httpauth.Read))
	return a.Guard(mux)
}

// A reply is what came back.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       string
	cookies    []*http.Cookie
}

func ask(h http.Handler, method, path string, body string, header map[string]string) reply {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	res := w.Result()
	defer func() { _ = res.Body.Close() }()
	return reply{w.Code, w.Header(), w.Body.String(), res.Cookies()}
}

func TestBearer(t *testing.T) {
	h := handler(httpauth.Options{Listen: "0.0.0.0:8080", Token: "all-secret", Tokens: issued})
	tests := map[string]struct {
		path, token string
		status      int
		who         string
	}{
		"no token":             {"/chat", "", 401, ""},
		"wrong":                {"/chat", "Bearer desk-secre", 401, ""},
		"empty":                {"/chat", "Bearer ", 401, ""},
		"another scheme":       {"/chat", "Basic desk-secret", 401, ""},
		"the one token":        {"/look", "Bearer all-secret", 200, "operator ana bob"},
		"scheme in lower case": {"/look", "bearer all-secret", 200, "operator ana bob"},
		"admin chats":          {"/chat", "Bearer desk-secret", 200, "desk ana bob"},
		"admin looks":          {"/look", "Bearer desk-secret", 200, "desk ana bob"},
		"read looks":           {"/look", "Bearer eye-secret", 200, "eye ana bob"},
		"read does not chat":   {"/chat", "Bearer eye-secret", 403, ""},
		"chat chats":           {"/chat", "Bearer shop-secret", 200, "shop ana"},
		"chat does not look":   {"/look", "Bearer shop-secret", 403, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			res := ask(h, "POST", tt.path, "", map[string]string{"Authorization": tt.token, "Origin": "https://evil.test"})
			if got := res.Body; res.StatusCode != tt.status || tt.status == 200 && got != tt.who {
				t.Errorf("got %d %q", res.StatusCode, got)
			}
			if says := strings.Contains(res.Body, "not known here"); says != (name == "wrong") {
				t.Errorf("got %s", res.Body)
			}
			if challenged := res.Header.Get("WWW-Authenticate") != ""; challenged != (tt.status == 401) {
				t.Errorf("asked for a token: %v", challenged)
			}
		})
	}
}

func logIn(t *testing.T, h http.Handler, token string) *http.Cookie {
	t.Helper()
	res := ask(h, "POST", "/login", url.Values{"token": {token}, "to": {"/chat?x=1"}}.Encode(), map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1:8080",
	})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/chat?x=1" || len(res.cookies) != 1 {
		t.Fatalf("log in: got %d to %q, cookies %v", res.StatusCode, res.Header.Get("Location"), res.cookies)
	}
	return res.cookies[0]
}

func TestCookie(t *testing.T) {
	opt := httpauth.Options{Listen: "0.0.0.0:8080", Tokens: issued}
	h := handler(opt)
	c := logIn(t, h, " shop-secret ")
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || strings.Contains(c.Value, "shop-secret") {
		t.Errorf("got cookie %v", c)
	}
	good := c.Name + "=" + c.Value
	tests := map[string]struct {
		method string
		header map[string]string
		status int
	}{
		"reads":                      {"GET", map[string]string{"Cookie": good}, 200},
		"writes from this page":      {"POST", map[string]string{"Cookie": good, "Origin": "http://127.0.0.1:8080"}, 200},
		"writes, same-origin":        {"POST", map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-origin", "Origin": "https://chat.test"}, 200},
		"writes by a program":        {"POST", map[string]string{"Cookie": good}, 200},
		"writes, address typed":      {"POST", map[string]string{"Cookie": good, "Sec-Fetch-Site": "none"}, 403},
		"reads, address typed":       {"GET", map[string]string{"Cookie": good, "Sec-Fetch-Site": "none"}, 200},
		"writes from another page":   {"POST", map[string]string{"Cookie": good, "Origin": "https://evil.test"}, 403},
		"writes from a null origin":  {"POST", map[string]string{"Cookie": good, "Origin": "null"}, 403},
		"reads from another page":    {"GET", map[string]string{"Cookie": good, "Origin": "https://evil.test"}, 403},
		"reads, cross-site":          {"GET", map[string]string{"Cookie": good, "Sec-Fetch-Site": "cross-site"}, 403},
		"reads, same-site":           {"GET", map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-site"}, 403},
		"a wrong bearer and cookie":  {"GET", map[string]string{"Cookie": good, "Authorization": "Bearer no"}, 401},
		"a cookie that was changed":  {"GET", map[string]string{"Cookie": good[:len(good)-2] + "xx"}, 401},
		"another name in the cookie": {"GET", map[string]string{"Cookie": strings.Replace(good, "c2hvcA", "ZGVzaw", 1)}, 401},
		"a cookie of nonsense":       {"GET", map[string]string{"Cookie": c.Name + "=x"}, 401},
		"a cookie with bad letters":  {"GET", map[string]string{"Cookie": c.Name + "=!.1.x"}, 401},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if res := ask(h, tt.method, "/chat", "", tt.header); res.StatusCode != tt.status {
				t.Errorf("got %d %s", res.StatusCode, res.Body)
			}
		})
	}
	changed := opt
	changed.Tokens = []httpauth.Token{{Name: "shop", Token: "another", Role: httpauth.Admin}}
	if res := ask(handler(changed), "GET", "/chat", "", map[string]string{"Cookie": good}); res.StatusCode != 401 {
		t.Errorf("after the token was changed: got %d", res.StatusCode)
	}
}

func TestCookieEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(httpauth.Options{Listen: "0.0.0.0:8080", Tokens: issued})
		c := logIn(t, h, "desk-secret")
		cookie := map[string]string{"Cookie": c.Name + "=" + c.Value}
		time.Sleep(time.Until(c.Expires) - time.Minute)
		if res := ask(h, "GET", "/chat", "", cookie); res.StatusCode != 200 {
			t.Errorf("before its end: got %d", res.StatusCode)
		}
		time.Sleep(2 * time.Minute)
		if res := ask(h, "GET", "/chat", "", cookie); res.StatusCode != 401 {
			t.Errorf("after its end: got %d", res.StatusCode)
		}
	})
}

// Who names no page comes to that of their role.
func TestLoginLeadsHome(t *testing.T) {
	h := handler(httpauth.Options{Listen: "0.0.0.0:8080", Token: "all-secret", Tokens: issued})
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1:8080"}
	for token, want := range map[string]string{"all-secret": "/", "desk-secret": "/", "eye-secret": "/", "shop-secret": "/chat"} {
		res := ask(h, "POST", "/login", "to=&token="+token, form)
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || got != want || len(res.cookies) != 1 {
			t.Fatalf("%s: got %d to %q, want %q", token, res.StatusCode, got, want)
		}
		c := res.cookies[0]
		if got := ask(h, "GET", "/login", "", map[string]string{"Cookie": c.Name + "=" + c.Value}).Header.Get("Location"); got != want {
			t.Errorf("%s, logged in already: got %q, want %q", token, got, want)
		}
	}
}

func TestSecureCookie(t *testing.T) {
	h := handler(httpauth.Options{Listen: "127.0.0.1:8080", Token: "all-secret"})
	res := ask(h, "POST", "/login", "token=all-secret", map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", "X-Forwarded-Proto": "https", "Host": "chat.test",
	})
	if cs := res.cookies; len(cs) != 1 || !cs[0].Secure {
		t.Errorf("got %d, cookies %v", res.StatusCode, cs)
	}
}

func TestLoginPage(t *testing.T) {
	h := handler(httpauth.Options{Listen: "127.0.0.1:8080", Token: "all-secret"})
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1:8080"}
	res := ask(h, "POST", "/login", "token=<b>no&to=/chat?a=\"><script>", form)
	if body := res.Body; res.StatusCode != 401 || strings.Contains(body, "<script>") || strings.Contains(body, "<b>") || len(res.cookies) > 0 {
		t.Errorf("a wrong token: got %d %s", res.StatusCode, body)
	}
	if res := ask(h, "POST", "/login", "token=", form); res.StatusCode != 401 {
		t.Errorf("an empty token: got %d", res.StatusCode)
	}
	if res := ask(h, "POST", "/login?token=all-secret", "", form); res.StatusCode != 401 || len(res.cookies) > 0 {
		t.Errorf("a token in the address: got %d", res.StatusCode)
	}
	delete(form, "Origin")
	if res := ask(h, "POST", "/login", "token=all-secret", form); res.StatusCode != http.StatusSeeOther || len(res.cookies) != 1 {
		t.Errorf("by a program: got %d %s", res.StatusCode, res.Body)
	}
	if res := ask(h, "POST", "/logout", "", nil); res.StatusCode != http.StatusSeeOther {
		t.Errorf("log out by a program: got %d", res.StatusCode)
	}
	for _, foreign := range []map[string]string{{"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}} {
		foreign["Content-Type"] = form["Content-Type"]
		if res := ask(h, "POST", "/login", "token=all-secret", foreign); res.StatusCode != 403 || len(res.cookies) > 0 {
			t.Errorf("%v: got %d", foreign, res.StatusCode)
		}
	}
	form["Origin"] = "https://evil.test"
	if res := ask(h, "POST", "/login", "token=all-secret", form); res.StatusCode != 403 || len(res.cookies) > 0 {
		t.Errorf("from another page: got %d", res.StatusCode)
	}
	if res := ask(h, "POST", "/logout", "", map[string]string{"Origin": "https://evil.test"}); res.StatusCode != 403 {
		t.Errorf("log out from another page: got %d", res.StatusCode)
	}
	c := logIn(t, h, "all-secret")
	cookie := map[string]string{"Cookie": c.Name + "=" + c.Value}
	for to, want := range map[string]string{
		"/chat?a=b": "/chat?a=b", "": "/", "//evil.test": "/", "https://evil.test": "/", "/\\evil.test": "/", "evil": "/", "/a\r\nb": "/",
	} {
		res := ask(h, "GET", "/login?to="+url.QueryEscape(to), "", cookie)
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("to %q: got %d %q", to, res.StatusCode, got)
		}
	}
	res = ask(h, "POST", "/logout", "", map[string]string{"Origin": "http://127.0.0.1:8080"})
	if cs := res.cookies; res.StatusCode != http.StatusSeeOther || len(cs) != 1 || cs[0].MaxAge >= 0 {
		t.Errorf("log out: got %d, cookies %v", res.StatusCode, cs)
	}
	if res := ask(h, "GET", "/login/style.css", "", nil); res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style: got %d", res.StatusCode)
	}
}

// Without a token everybody on this machine may do all; pages of other sites may not.
func TestWithoutToken(t *testing.T) {
	h := handler(httpauth.Options{Listen: "127.0.0.1:8080"})
	tests := map[string]struct {
		method string
		header map[string]string
		status int
	}{
		"reads":                    {"GET", nil, 200},
		"writes":                   {"POST", nil, 200},
		"a needless token":         {"POST", map[string]string{"Authorization": "Bearer x"}, 200},
		"writes from this page":    {"POST", map[string]string{"Origin": "http://127.0.0.1:8080"}, 200},
		"writes from another page": {"POST", map[string]string{"Origin": "https://evil.test"}, 403},
		"reads, cross-site":        {"GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"a name for this machine":  {"GET", map[string]string{"Host": "rebound.test:8080"}, 403},
		"localhost":                {"GET", map[string]string{"Host": "LocalHost"}, 200},
		"version six":              {"GET", map[string]string{"Host": "[::1]:8080"}, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if res := ask(h, tt.method, "/look", "", tt.header); res.StatusCode != tt.status {
				t.Errorf("got %d %s", res.StatusCode, res.Body)
			}
		})
	}
}

// A listener that others reach refuses requests without a token, whatever the
// configuration lacks.
func TestNobodyWithoutTokenFromElsewhere(t *testing.T) {
	h := handler(httpauth.Options{Listen: "0.0.0.0:8080"})
	for _, token := range []string{"", "Bearer ", "Bearer x"} {
		if res := ask(h, "GET", "/look", "", map[string]string{"Authorization": token}); res.StatusCode != 401 {
			t.Errorf("with %q: got %d", token, res.StatusCode)
		}
	}
}

// A host that has not read yet which tokens were made by command refuses none of them for good.
func TestTokenThatIsNotKnownYet(t *testing.T) {
	h := handler(httpauth.Options{
		Listen: "0.0.0.0:8080", Tokens: issued,
		Issued: func(string, time.Time) (httpauth.Token, bool, error) {
			return httpauth.Token{}, false, httpauth.ErrStarting
		},
	})
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1:8080"}
	for name, res := range map[string]reply{
		"a token":  ask(h, "GET", "/look", "", map[string]string{"Authorization": "Bearer made"}),
		"a cookie": ask(h, "GET", "/look", "", map[string]string{"Cookie": "agenthost_login=issued:made"}),
		"a login":  ask(h, "POST", "/login", "token=made", form),
	} {
		if res.StatusCode != 503 || !strings.Contains(res.Body, "starting") || len(res.cookies) > 0 {
			t.Errorf("%s: got %d %s", name, res.StatusCode, res.Body)
		}
	}
	if res := ask(h, "GET", "/look", "", map[string]string{"Authorization": "Bearer eye-secret"}); res.StatusCode != 200 {
		t.Errorf("a token of the configuration: got %d %s", res.StatusCode, res.Body)
	}
}
