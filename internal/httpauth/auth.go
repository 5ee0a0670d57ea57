package httpauth

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"agenthost/bus"
)

// Options are what an Auth goes by.
type Options struct {
	Listen string // host:port of the listener
	Token  string // it may do all; empty: there is none
	Tokens []Token
	// Issued finds a token that was made by command; its error is ErrStarting where those are not known
	// yet. Without it only the tokens of the configuration count.
	Issued func(sent string, now time.Time) (t Token, ok bool, err error)
	// LogOut ends a login of a token of the configuration on all hosts, and has it forgotten when it
	// would have ended by itself; LoggedOut reports whether one was ended, and its error is ErrStarting
	// where that is not known yet. nil: a logout ends nothing but the cookie of its browser.
	LogOut    func(ctx context.Context, login string, until time.Time) error
	LoggedOut func(login string) (bool, error)
}

// An Auth knows who makes a request. It is safe for concurrent use.
type Auth struct {
	tokens tokens
	local  bool // requests come from this machine alone
	issued func(sent string, now time.Time) (t Token, ok bool, err error)

	endLogin func(ctx context.Context, login string, until time.Time) error
	ended    func(login string) (bool, error)
}

// New makes an Auth.
func New(opt Options) *Auth {
	host, _, _ := net.SplitHostPort(opt.Listen)
	a := &Auth{local: bus.Loopback(host), issued: opt.Issued, endLogin: opt.LogOut, ended: opt.LoggedOut}
	if a.endLogin == nil || a.ended == nil {
		a.endLogin = func(context.Context, string, time.Time) error { return nil }
		a.ended = func(string) (bool, error) { return false, nil }
	}
	if a.issued == nil {
		a.issued = func(string, time.Time) (Token, bool, error) { return Token{}, false, nil }
	}
	if opt.Token != "" {
		a.tokens = append(a.tokens, Token{Name: Operator, Token: opt.Token, Role: Admin})
	}
	for _, t := range opt.Tokens {
		if t.Token != "" && t.Name != Operator {
			a.tokens = append(a.tokens, t)
		}
	}
	return a
}

// Open reports whether no token is needed.
func (a *Auth) Open() bool { return len(a.tokens) == 0 && a.local }

// Guard is before everything that a listener serves. Where no token is needed it
// refuses requests for another machine's name. With a token there is nothing to
// read without it, and a proxy may stand before the host.
func (a *Auth) Guard(next http.Handler) http.Handler {
	if !a.Open() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !onThisMachine(r) {
			refuse(w, http.StatusForbidden, "this address is for this machine: ask it as localhost, or set http.token")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ErrStarting is the error of what a host does not know before it has read it from NATS.
var ErrStarting = errors.New("the host is starting; try again in a moment")

// Why a request has no caller.
var (
	errNoToken = errors.New("send a token: Authorization: Bearer …, or log in at /login")
	errUnknown = errors.New("this token is not known here: it is wrong, was revoked or has expired; make one with agenthost tokens add")
	errForeign = errors.New("this request comes from a page of another site; send it from a page of this host, or with Authorization: Bearer …")
)

// Caller is who makes a request.
func (a *Auth) Caller(r *http.Request) (Caller, error) {
	if sent, ok := bearer(r); ok {
		t, err := a.with(sent)
		switch {
		case err == nil:
			return t.caller(), nil
		case a.Open():
			return Caller{Name: Operator, Role: Admin, Open: true}, nil
		case sent != "":
			return Caller{}, err
		}
		return Caller{}, errNoToken
	}
	if a.Open() {
		if foreign(r) {
			return Caller{}, errForeign
		}
		return Caller{Name: Operator, Role: Admin, Open: true}, nil
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return Caller{}, errNoToken
	}
	t, err := a.byCookie(cookie.Value)
	switch {
	case err != nil:
		return Caller{}, err
	case foreign(r):
		return Caller{}, errForeign
	}
	return t.caller(), nil
}

// with is the token that was sent. One that was made by command has no name of the
// configuration: the name says who it is. The error is errUnknown or ErrStarting.
func (a *Auth) with(sent string) (Token, error) {
	if t, ok := a.tokens.with(sent); ok {
		return t, nil
	}
	t, ok, err := a.issued(sent, time.Now())
	if err != nil {
		return Token{}, err
	}
	if _, taken := a.tokens.named(t.Name); !ok || taken || t.Name == Operator {
		return Token{}, errUnknown
	}
	return t, nil
}

// byCookie is the token whose login a cookie holds.
func (a *Auth) byCookie(value string) (Token, error) {
	if sent, ok := strings.CutPrefix(value, issuedCookie); ok {
		t, err := a.with(sent)
		if errors.Is(err, errUnknown) {
			err = errNoToken
		}
		return t, err
	}
	t, ok := a.tokens.byCookie(value, time.Now())
	if !ok {
		return Token{}, errNoToken
	}
	switch ended, err := a.ended(loginOf(value)); {
	case err != nil:
		return Token{}, err
	case ended:
		return Token{}, errNoToken
	}
	return t, nil
}

func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// A Refusal is why a request is not let in.
type Refusal struct {
	Status int // of HTTP
	Why    string
}

// Admit is who makes a request, if they have one of the roles or are an admin: 401
// without a caller, 403 beyond the role and for the page of another site, 503 where the host is starting
// and does not know yet.
func (a *Auth) Admit(r *http.Request, roles ...Role) (Caller, *Refusal) {
	c, err := a.Caller(r)
	switch {
	case errors.Is(err, errForeign):
		return c, &Refusal{http.StatusForbidden, err.Error()}
	case errors.Is(err, ErrStarting):
		return c, &Refusal{http.StatusServiceUnavailable, err.Error()}
	case err != nil:
		return c, &Refusal{http.StatusUnauthorized, err.Error()}
	case !c.May(roles...):
		return c, &Refusal{http.StatusForbidden, "the role " + string(c.Role) + " may not do this; use a token with another role"}
	}
	return c, nil
}

// Require lets those in whom Admit admits.
func (a *Auth) Require(next http.Handler, roles ...Role) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, no := a.Admit(r, roles...)
		if no == nil {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
			return
		}
		if no.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, no.Status, no.Why)
	})
}

// Check is Admit with an error and its status.
func (a *Auth) Check(r *http.Request, roles ...Role) (c Caller, status int, err error) {
	c, no := a.Admit(r, roles...)
	if no != nil {
		return c, no.Status, errors.New(no.Why)
	}
	return c, http.StatusOK, nil
}

type callerKey struct{}

// CallerOf is who makes a request that Require has let in.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why}) // the client may be gone
}
