package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/client"
	"agenthost/internal/httpauth"
	"agenthost/plugins/settings"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// The channel, and its subjects.
const (
	channel = "web"
	inward  = "plugin.inbound." + channel
	outward = "plugin.outbound." + channel
)

// An Agent is one that people can talk to.
type Agent struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
}

// Parts are what a Web works with.
type Parts struct {
	Client *client.Client
	Auth   *httpauth.Auth
	// Agents are those that are bound to the channel now.
	Agents func() []Agent
	// Session is the session of the direct chat with that key; nil: its own.
	Session func(session.Key) session.Key
	Log     zerolog.Logger
}

// A Web serves the chat page and its API.
type Web struct {
	settings atomic.Pointer[settings.Web] // never nil
	served   atomic.Bool
	parts    Parts
	files    *filestore.Store
	reader   *records.Reader
	hub      *hub
	limits   *limits
	handler  func() http.Handler // made by the first request
}

// New makes a Web. It starts nothing. A page that is not there, nil, may come by Set.
func New(s *settings.Web, p Parts) *Web {
	js := p.Client.JetStream()
	w := &Web{
		parts: p, files: filestore.New(js), reader: records.NewReader(js),
		hub: newHub(js, p.Log), limits: newLimits(),
	}
	w.handler = sync.OnceValue(w.routes)
	w.settings.Store(&settings.Web{})
	w.Set(s)
	return w
}

// Set goes over to other settings, nil: to no page, which ends the streams of the pages
// that are open.
func (w *Web) Set(s *settings.Web) {
	if s == nil {
		w.served.Store(false)
		w.hub.cut()
		return
	}
	now := *s
	now.MaxFile = cmp.Or(now.MaxFile, settings.DefaultMaxFile)
	w.settings.Store(&now)
	w.served.Store(true)
}

// Served reports whether there is a page.
func (w *Web) Served() bool { return w.served.Load() }

// Run follows the channel from the first request on, until ctx ends. Before, it
// costs nothing.
func (w *Web) Run(ctx context.Context) error { return w.hub.run(ctx) }

// Handler answers the requests below /chat.
func (w *Web) Handler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.Served() {
			http.NotFound(rw, r)
			return
		}
		w.handler().ServeHTTP(rw, r)
	})
}

// mayLook are the roles that see what is said.
var mayLook = []httpauth.Role{httpauth.Chat, httpauth.Read}

func (w *Web) routes() http.Handler {
	mux := http.NewServeMux()
	w.mountPage(mux)
	look := func(h http.HandlerFunc) http.Handler {
		return w.api(w.parts.Auth.Require(h, mayLook...))
	}
	mux.Handle("GET /chat/api/me", look(w.me))
	mux.Handle("GET /chat/api/conversations", look(w.conversations))
	mux.Handle("GET /chat/api/history", look(w.history))
	mux.Handle("GET /chat/api/file", look(w.file))
	mux.Handle("GET /chat/api/events", look(w.events))
	mux.Handle("POST /chat/api/messages", w.api(w.parts.Auth.Require(http.HandlerFunc(w.post), httpauth.Chat)))
	return mux
}

// api adds what every answer of the API says to browsers and proxies.
func (w *Web) api(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		next.ServeHTTP(rw, r)
	})
}

// agentsFor are the agents that a caller may talk to.
func (w *Web) agentsFor(c httpauth.Caller) []Agent {
	return slices.DeleteFunc(slices.Clone(w.parts.Agents()), func(a Agent) bool { return !c.Reaches(a.ID) })
}

// me says who asks, and with whom they can talk.
func (w *Web) me(rw http.ResponseWriter, r *http.Request) {
	p := w.personOf(rw, r)
	c := httpauth.CallerOf(r.Context())
	answer(rw, http.StatusOK, map[string]any{
		"person": p.id, "name": p.name, "open": c.Open, "may_write": c.May(httpauth.Chat),
		"agents": w.agentsFor(c), "max_file": int64(w.settings.Load().MaxFile), "max_text": mostText, "max_files": mostFiles,
	})
}
