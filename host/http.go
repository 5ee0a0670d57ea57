package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/console"
	"agenthost/internal/httpauth"

	"github.com/rs/zerolog"
)

// bindEvery is how often a taken address is tried again.
const bindEvery = 5 * time.Second

// serveHTTP serves health, readiness and metrics until the returned function is called.
// An address that is taken does not keep the agents from being served: it is
// tried again until it is free.
func (h *Host) serveHTTP(ctx context.Context) (stop func()) {
	none := ""
	h.http.Store(&none)
	if h.opt.Config.HTTP.Listen == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	srv := newServer(h.handler(), requestWithin)
	done := make(chan struct{})
	l := h.bind(ctx)
	go func() {
		defer close(done)
		for l == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(bindEvery):
				l = h.bind(ctx)
			}
		}
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			h.log.Error().Err(err).Msg("HTTP has stopped")
		}
	}()
	return func() {
		cancel()
		shut, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		if err := srv.Shutdown(shut); err != nil {
			_ = srv.Close()
		}
		<-done
	}
}

// requestWithin is how long a request may take to come, with its body: a slow phone
// sends a picture. Answers take as long as they take.
const requestWithin = 5 * time.Minute

// newServer makes a server on which clients that say nothing, or ever so little, do not
// stay.
func newServer(handler http.Handler, within time.Duration) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: min(within, 10*time.Second), ReadTimeout: within, IdleTimeout: 2 * time.Minute}
}

// bodyLimits are how long a body may take that comes without a token.
type bodyLimits struct {
	refused time.Duration // where the request is refused without it
	proves  time.Duration // where it is what lets the request in: the form of the login, and what is signed
}

var requestLimits = bodyLimits{refused: 10 * time.Second, proves: 30 * time.Second}

// boundBodies keeps connections from being held by bodies that come slowly, of those who
// have no token. What is refused without its body is answered at once.
func boundBodies(next http.Handler, auth *httpauth.Auth, limits bodyLimits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within := limits.refused
		switch path := r.URL.Path; {
		case r.ContentLength == 0:
			within = 0
		case path == "/login" || strings.HasPrefix(path, "/hooks/"):
			within = limits.proves
		default:
			if _, err := auth.Caller(r); err == nil {
				within = 0
			}
		}
		if within > 0 {
			// The server looks at the body of its own request to see whether the client still sends.
			r = r.WithContext(r.Context())
			r.Body = boundBody(w, r.Body, within)
		}
		next.ServeHTTP(w, r)
	})
}

// A boundedBody is a body that has to come soon.
type boundedBody struct {
	io.ReadCloser
	w       http.ResponseWriter
	control *http.ResponseController
}

// boundBody has the connection closed by an answer that is given before the end of the
// body: a server that keeps it waits for the rest before it sends the answer.
func boundBody(w http.ResponseWriter, body io.ReadCloser, within time.Duration) io.ReadCloser {
	b := &boundedBody{body, w, http.NewResponseController(w)}
	_ = b.control.SetReadDeadline(time.Now().Add(within)) // a test's recorder has none
	w.Header().Set("Connection", "close")
	return b
}

// Read implements io.Reader. Once all has come the connection is as any other.
func (b *boundedBody) Read(p []byte) (n int, err error) {
	if n, err = b.ReadCloser.Read(p); errors.Is(err, io.EOF) {
		b.w.Header().Del("Connection")
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (h *Host) bind(ctx context.Context) net.Listener {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", h.opt.Config.HTTP.Listen)
	if err == nil {
		addr := l.Addr().String()
		h.http.Store(&addr)
		return l
	}
	level := zerolog.ErrorLevel
	if errors.Is(err, syscall.EADDRINUSE) {
		level = zerolog.WarnLevel
	}
	h.log.WithLevel(level).Err(err).Msg("HTTP has no address yet; set http.listen to a free one, or to \"\" for none. Trying again")
	return nil
}

func (h *Host) httpAddress() string { return *h.http.Load() }

// HTTP is where health and readiness are served, empty while they are not.
func (h *Host) HTTP() string { return h.httpAddress() }

func (h *Host) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", h.readyz)
	console.Mount(mux, http.HandlerFunc(h.index))
	auth := h.httpAuth
	auth.Mount(mux)
	mux.Handle("GET /metrics", auth.Require(h.numbers(), httpauth.Read))
	mux.HandleFunc("/api/", h.serveAPI)
	mux.Handle("/chat", h.chatPage())
	mux.Handle("/chat/", h.chatPage())
	for _, d := range httpDoors() {
		for _, path := range d.paths {
			mux.Handle(path, h.throughDoors(d))
		}
	}
	open := http.NewServeMux() // without a token, and by any name of the host: what comes is signed
	open.HandleFunc("/hooks/{path}", h.serveHook)
	open.HandleFunc("/hooks/{path}/{rest...}", h.serveHook)
	open.Handle("/", auth.Guard(mux))
	return boundBodies(open, auth, requestLimits)
}

// numbers serves metrics, to a token that is for some agents those of these.
func (h *Host) numbers() http.Handler {
	all := h.metrics.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := httpauth.CallerOf(r.Context()); c.Limited() {
			h.metrics.HandlerFor(c.Reaches).ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// newAuth makes what knows who may ask.
func (h *Host) newAuth() *httpauth.Auth {
	cfg := h.opt.Config.HTTP
	return httpauth.New(httpauth.Options{Listen: cfg.Listen, Token: cfg.Token, Tokens: cfg.Tokens, Issued: h.issued.Find, LogOut: h.issued.LogOut, LoggedOut: h.issued.LoggedOut})
}

// tokenNames are those of the tokens of a configuration: no token that is made by command has one.
func tokenNames(cfg *config.Config) (names []string) {
	for _, t := range cfg.HTTP.Tokens {
		if t.Token != "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// index says what is served here.
func (h *Host) index(w http.ResponseWriter, _ *http.Request) {
	paths := map[string]string{
		"/":        "the console, in a browser",
		"/healthz": "the process is alive", "/readyz": "a message that came now would be handled, or why not",
		"/metrics":          "metrics for Prometheus; with http.token, if it is set",
		"/api/openapi.json": "what programs can ask and order, over HTTP",
	}
	if h.chats() {
		paths["/chat"] = "the chat page, for people"
	}
	doors := map[string]string{"/api": "the HTTP API, for programs that steer the fleet; /api/openapi.json describes it"}
	for _, d := range httpDoors() {
		doors[d.at] = d.about
	}
	answer(w, http.StatusOK, map[string]any{"service": client.ServiceName, "version": h.opt.Version, "paths": paths, "doors": doors})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
