package host

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"agenthost/bus/streams"
)

// healthz answers that the process is alive.
func healthz(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"status": "ok"})
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
	for _, p := range h.fleet.Load().Pauses() {
		body["paused "+p.String()] = p.Words()
	}
	for name, why := range h.channelTroubles() {
		body["channel "+name] = why
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
		if err := h.Bus().Denied(); err != nil {
			return fmt.Sprintf("%s since %s: %v", state, h.waiting.UTC().Format(time.RFC3339), err)
		}
		return state
	case state == stateStarting:
		if b := h.Bus(); b != nil {
			if err := b.Healthy(ctx); err != nil {
				return fmt.Sprintf("%s: %v", state, err)
			}
		}
		return state
	case state != "":
		return state
	}
	for _, check := range []func() error{
		h.descriptors.lacking,
		func() error { return h.Bus().Healthy(ctx) },
		func() error { return streams.Healthy(ctx, h.Bus().JS) },
		h.stuck,
	} {
		if err := check(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// readiness is ready, or degraded when an agent or an account of a channel has a
// fault or the configuration as it stands in its files was refused.
func (h *Host) readiness() string {
	if len(h.now.Load().Faults)+len(*h.refused.Load())+len(h.channelTroubles()) > 0 {
		return "degraded"
	}
	return "ready"
}
