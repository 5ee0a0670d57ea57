//go:build long

package host_test

import (
	"errors"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/waittest"
	"agenthost/internal/why"
	"agenthost/session"
)

// A run is in the log with its first commit only. Its host knows of it before.
func TestWhyRunning(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"one lane": 0, "partitions": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := scripted(t, `rules: [{text: "a word", delay: 5m}]`)
			cfg.Agents[0].Partitions = n
			cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo", Queue: session.Collect, Debounce: 300 * time.Millisecond}}
			h, _ := start(t, cfg)
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "long"})
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ana", Text: "work"})
			var run client.Run
			waittest.Until(t, "a run", func() bool {
				list, err := clientOf(h).Runs(t.Context())
				if err != nil || len(list.Runs) != 1 || list.Runs[0].Phase != "invoking" {
					return false
				}
				run = list.Runs[0]
				return true
			})
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m3", From: "ana", Text: "behind"})
			waittest.Until(t, "m3 is stored", func() bool { return stored(t, h, bus.InboundStream) == 3 })
			want := map[string]string{"m1": why.Running, "m2": why.Running, run.Run: why.Running, "m3": why.Waiting}
			for id, state := range want {
				w, err := why.FindLive(t.Context(), clientOf(h), id, nil)
				if err != nil || w.State != state {
					t.Errorf("%s: got %s, %v, want %s; %s", id, w.State, err, state, steps(w))
					continue
				}
				last := w.Steps[len(w.Steps)-1]
				if state == why.Running && (last.What != why.Started || last.Run != run.Run || last.Host == "" || last.Session != "demo/dm/ana" || last.Detail != "message, invoking") {
					t.Errorf("%s: got %+v", id, last)
				}
			}
			if w := way(t, h, "m1"); w.State != why.Waiting {
				t.Errorf("by the streams alone: got %s; %s", w.State, steps(w))
			}
			if _, err := why.FindLive(t.Context(), clientOf(h), "m4", nil); !errors.Is(err, why.ErrUnknown) {
				t.Errorf("an id that nothing has: %v", err)
			}
		})
	}
}
