package host_test

import (
	"testing"

	"agenthost/bus"
)

// A message may name one of the agents that are bound to its subject. One that names another
// is answered with an error.
func TestMessageForOneOfTheAgents(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	second := cfg.Agents[0]
	second.ID = "second"
	cfg.Agents = append(cfg.Agents, second)
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	out := outbound(t, nc, 5)
	for _, m := range []bus.Inbound{{ID: "1", Agent: "second"}, {ID: "2", Agent: "nobody"}, {ID: "3", Agent: "demo"}, {ID: "4"}} {
		m.Text = m.ID
		publish(t, nc, "plugin.inbound.demo", m)
	}
	got := map[string]int{}
	for _, r := range out() {
		if r.Kind == "error" {
			got["error "+r.InReplyTo]++
			continue
		}
		got[r.Agent+" "+r.Text]++
	}
	for _, want := range []string{"second 1", "error 2", "demo 3", "demo 4", "second 4"} {
		if got[want] != 1 {
			t.Errorf("got %v, want one %q", got, want)
		}
	}
}

// A person has a session in each conversation, and one whatever the thread.
func TestConversationOfAPersonIsASession(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	out := outbound(t, nc, 4)
	for _, conversation := range []string{"", "a", "b"} {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Conversation: conversation, Thread: conversation, Text: "in " + conversation})
	}
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Thread: "c", Text: "in a thread"})
	got := map[string]bool{}
	for _, r := range out() {
		got[r.Session+" "+r.Thread] = true
	}
	if !got["demo/dm/ana "] || !got["demo/dm/ana/a a"] || !got["demo/dm/ana/b b"] || !got["demo/dm/ana c"] {
		t.Errorf("got %v", got)
	}
	keys, err := clientOf(h).Sessions().Of(t.Context(), "demo", "ana")
	if err != nil || len(keys) != 3 {
		t.Errorf("sessions of ana: got %q, %v", keys, err)
	}
	if keys, err = clientOf(h).Sessions().Of(t.Context(), "demo", "an"); err != nil || len(keys) != 0 {
		t.Errorf("sessions of an: got %q, %v", keys, err)
	}
}
