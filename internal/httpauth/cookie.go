package httpauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// issuedCookie begins the cookie for a token that was made by command. It holds the
// token itself: of that this host knows nothing to prove a login with.
const issuedCookie = "issued:"

const (
	cookieName = "agenthost_login"
	cookieFor  = 30 * 24 * time.Hour
	apart      = time.Hour // by less than that logins of one second end apart
)

// newCookie is the login by the token t. It holds the name, the
// end, and a proof that only who knows the token can make: with another token it
// ends. By the end logins of one second differ, so that a logout ends its own.
func newCookie(t Token, sent string, now time.Time, secure bool) *http.Cookie {
	end := now.Add(cookieFor - rand.N(apart))
	if t.Token == "" {
		return &http.Cookie{
			Name: cookieName, Value: issuedCookie + sent, Path: "/", Expires: end,
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
		}
	}
	content := encode([]byte(t.Name)) + "." + strconv.FormatInt(end.Unix(), 10)
	return &http.Cookie{
		Name: cookieName, Value: content + "." + proof(t, content), Path: "/", Expires: end,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	}
}

// loginOf names the login that a cookie holds, and does not give it away.
func loginOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:16])
}

// noCookie ends a login.
func noCookie(secure bool) *http.Cookie {
	return &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure}
}

// byCookie is the token whose login a cookie holds.
func (ts tokens) byCookie(value string, now time.Time) (Token, bool) {
	i := strings.LastIndexByte(value, '.')
	if i < 0 {
		return Token{}, false
	}
	content, sent := value[:i], value[i+1:]
	name, end, _ := strings.Cut(content, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil {
		return Token{}, false
	}
	t, ok := ts.named(string(decoded))
	if !ok || !hmac.Equal([]byte(sent), []byte(proof(t, content))) {
		return Token{}, false
	}
	until, err := strconv.ParseInt(end, 10, 64)
	return t, err == nil && now.Before(time.Unix(until, 0))
}

func proof(t Token, content string) string {
	mac := hmac.New(sha256.New, []byte(t.Token))
	mac.Write([]byte("agenthost login\x00" + content))
	return encode(mac.Sum(nil))
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Secure reports whether a request came over TLS, here or at the proxy before this
// host.
func Secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
