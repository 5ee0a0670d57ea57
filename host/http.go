package host

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"agenthost/bus"
	"agenthost/client"

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
	srv := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 10 * time.Second}
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
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", h.readyz)
	mux.HandleFunc("GET /{$}", h.index)
	mux.Handle("GET /metrics", h.withToken(h.metrics.Handler()))
	return h.forThisMachine(mux)
}

// index says what is served here.
func (h *Host) index(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"service": client.ServiceName, "version": h.opt.Version, "paths": map[string]string{
		"/healthz": "the process is alive", "/readyz": "a message that came now would be handled, or why not",
		"/metrics": "metrics for Prometheus; with http.token, if it is set",
	}})
}

// forThisMachine refuses requests for another machine's name where this one
// alone can send any: a web page whose name was made to lead to the loopback
// address would read along. With a token there is nothing to read without it,
// and a proxy may stand before the host.
func (h *Host) forThisMachine(next http.Handler) http.Handler {
	cfg := h.opt.Config.HTTP
	host, _, _ := net.SplitHostPort(cfg.Listen)
	if cfg.Token != "" || !bus.Loopback(host) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = strings.Trim(r.Host, "[]") // without a port
		}
		if !bus.Loopback(strings.ToLower(name)) {
			answer(w, http.StatusForbidden, map[string]any{"error": "this address is for this machine: ask it as localhost, or set http.token"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withToken lets only those in who send the token, if there is one.
func (h *Host) withToken(next http.Handler) http.Handler {
	token := h.opt.Config.HTTP.Token
	if token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answer(w, http.StatusUnauthorized, map[string]any{"error": "send the http.token: Authorization: Bearer …"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readyz answers whether a message that came now would be handled.
func (h *Host) readyz(w http.ResponseWriter, r *http.Request) {
	if reason := h.unready(r.Context()); reason != "" {
		answer(w, http.StatusServiceUnavailable, map[string]any{"status": "not ready", "reason": reason})
		return
	}
	serving, lanes := h.fleet.Load().Serving()
	body := map[string]any{"status": h.readiness(), "host": h.opt.Name, "lanes": lanes, "serving": serving}
	for agent, f := range h.now.Load().Faults {
		body["agent "+agent] = f.State() + ": " + f.Err.Error()
	}
	if refused := *h.refused.Load(); len(refused) > 0 {
		body["config"] = "refused: " + refused[0].String()
	}
	answer(w, http.StatusOK, body)
}

// unready is why a message that came now would not be handled; empty when it would.
func (h *Host) unready(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	state := *h.state.Load()
	fault := h.storeFault()
	switch {
	case fault != nil && state != stateStopping:
		return fault.Error()
	case state == stateWaiting:
		if err := h.Bus().Healthy(ctx); err != nil {
			return fmt.Sprintf("%s since %s: %v", state, h.waiting.UTC().Format(time.RFC3339), err)
		}
		return state
	case state != "":
		return state
	}
	for _, check := range []func() error{
		h.descriptors.lacking,
		func() error { return h.Bus().Healthy(ctx) },
		func() error { return h.Bus().StreamsHealthy(ctx) },
		h.stuck,
	} {
		if err := check(); err != nil {
			return err.Error()
		}
	}
	return ""
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
