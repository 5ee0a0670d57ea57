//go:build long

package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/hooks"
)

// A sender who fills a message up gets past no hook, whatever it is to do when it fails.
func TestHookOfAPaddedMessage(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{hooks.FailOpen, hooks.FailClosed} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			cfg := demo(t)
			cfg.Hooks = []hooks.Config{{On: hooks.BeforeMessage, Subject: "acme.guard", Fail: fail}}
			h, _ := start(t, cfg)
			nc, files := h.Bus().NC, filestore.New(h.Bus().JS)
			sub, err := nc.Subscribe("acme.guard", func(m *nats.Msg) {
				cut := struct{ Cut hooks.Cut }{}
				if err := json.Unmarshal(m.Data, &cut); err != nil {
					t.Error(err)
				}
				data := m.Data
				if cut.Cut.Object != "" {
					whole, err := files.Get(t.Context(), cut.Cut.Object)
					if err != nil {
						t.Error(err)
					}
					data = whole
				}
				answer := `{"action":"continue"}`
				if strings.Contains(string(data), "casino") {
					answer = `{"action":"abort","reason":"No ads."}`
				}
				if err := m.Respond([]byte(answer)); err != nil {
					t.Error(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = sub.Unsubscribe() })
			replies, err := nc.SubscribeSync("plugin.outbound.demo")
			if err != nil {
				t.Fatal(err)
			}
			for pad, want := range map[string]string{"casino": "No ads.", "hello": "hello"} {
				text := strings.Repeat("x", int(nc.MaxPayload())-100) + " " + pad
				publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: pad, From: pad, Text: text})
				if out := next(t, replies); out.InReplyTo != pad || out.Text != want && out.Kind != "reply" || strings.Contains(out.Text, "casino") {
					t.Errorf("%s: got %s %.100q, want %q", pad, out.Kind, out.Text, want)
				}
			}
		})
	}
}
