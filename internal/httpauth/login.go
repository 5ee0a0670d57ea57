package httpauth

import (
	"cmp"
	_ "embed"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

//go:embed login.html
var loginHTML string

//go:embed login.css
var loginCSS []byte

// mostForm bounds what is read of the form.
const mostForm = 16 << 10

// Mount serves /login and /logout.
func (a *Auth) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /login", a.showLogin)
	mux.HandleFunc("POST /login", a.logIn)
	mux.HandleFunc("POST /logout", a.logOut)
	mux.HandleFunc("GET /login/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(loginCSS) // the client may be gone
	})
}

func (a *Auth) showLogin(w http.ResponseWriter, r *http.Request) {
	to := inside(r.URL.Query().Get("to"))
	if c, err := a.Caller(r); err == nil {
		http.Redirect(w, r, cmp.Or(to, home(c.Role)), http.StatusSeeOther)
		return
	}
	writeLogin(w, http.StatusOK, to, "")
}

// logIn takes the token that was typed.
func (a *Auth) logIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if foreign(r) { // else a page could log its visitor in with a token of its own
		refuse(w, http.StatusForbidden, errForeign.Error())
		return
	}
	if r.ContentLength > mostForm {
		refuse(w, http.StatusRequestEntityTooLarge, "the form is too large; send a token")
		return
	}
	to := inside(r.FormValue("to"))
	sent := strings.TrimSpace(r.PostFormValue("token")) // not that of an address, which logs of proxies keep
	t, err := a.with(sent)
	if errors.Is(err, ErrStarting) {
		writeLogin(w, http.StatusServiceUnavailable, to, "The host is starting. Try again in a moment.")
		return
	}
	if err != nil {
		writeLogin(w, http.StatusUnauthorized, to, "This token is not known here. Copy it once more, without spaces.")
		return
	}
	http.SetCookie(w, newCookie(t, sent, time.Now(), Secure(r)))
	http.Redirect(w, r, cmp.Or(to, home(t.Role)), http.StatusSeeOther)
}

func (a *Auth) logOut(w http.ResponseWriter, r *http.Request) {
	if foreign(r) {
		refuse(w, http.StatusForbidden, errForeign.Error())
		return
	}
	http.SetCookie(w, noCookie(Secure(r)))
	if err := a.endLoginOf(r); err != nil {
		refuse(w, http.StatusServiceUnavailable, "this browser is logged out, and a copy of its cookie is not, until it expires or the token is replaced: "+err.Error())
		return
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// endLoginOf ends the login of a request, so that no copy of its cookie counts. The cookie for a
// token that was made by command is the token, which a logout does not end.
func (a *Auth) endLoginOf(r *http.Request) error {
	cookie, err := r.Cookie(cookieName)
	if err != nil || strings.HasPrefix(cookie.Value, issuedCookie) {
		return nil //nolint:nilerr // it is of no login
	}
	switch _, err := a.byCookie(cookie.Value); {
	case errors.Is(err, errNoToken):
		return nil
	case err != nil:
		return err
	}
	return a.endLogin(r.Context(), loginOf(cookie.Value), time.Now().Add(cookieFor))
}

// home is the page of a role: the console, or the chat for who may only talk.
func home(role Role) string {
	if role == Chat {
		return "/chat"
	}
	return "/"
}

// inside is a path of this host, and empty for what leads elsewhere.
func inside(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return ""
	}
	return to
}

const loginPolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func writeLogin(w http.ResponseWriter, status int, to, wrong string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", loginPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	// not no-referrer: with that a browser says of a form that it comes from nowhere
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, loginPage(to, wrong)) // the client may be gone
}

// loginPage is the page with its two texts, escaped. html/template would have the
// linker keep every method of the program.
func loginPage(to, wrong string) string {
	invalid, alert := "", ""
	if wrong != "" {
		invalid = ` aria-describedby="wrong" aria-invalid="true"`
		alert = `<p id="wrong" role="alert">` + html.EscapeString(wrong) + `</p>`
	}
	return strings.NewReplacer("{{to}}", html.EscapeString(to), "{{invalid}}", invalid, "{{alert}}", alert).Replace(loginHTML)
}
