package host_test

import (
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/identity"
)

// What an agent remembers of a person counts on all their channels, and nowhere else;
// the sessions stay apart.
func TestIdentitiesShareAMemory(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, remembering)
	cfg.Agents[0].Tools = []string{"remember", "recall", "forget"}
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo"}, {Channel: "mail"}}
	cfg.Identities = map[string]identity.Config{"ana": {Accounts: []string{"demo/7", "mail/ana@shop.test"}}}
	h, _ := start(t, cfg)
	say := func(channel, from, text string) bus.Outbound {
		t.Helper()
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound."+channel, bus.Inbound{From: from, Text: text})
		return out()[0]
	}
	say("demo", "7", "remember the salary is 100")
	got := say("mail", "ana@shop.test", "recall salary")
	if !strings.Contains(got.Text, "the salary is 100") || got.Session != "mail/dm/ana@shop.test" {
		t.Errorf("by mail: %+v", got)
	}
	for channel, from := range map[string]string{"mail": "7", "demo": "ana@shop.test"} {
		if got := say(channel, from, "recall salary"); strings.Contains(got.Text, "the salary is 100") {
			t.Errorf("%s/%s hears %s", channel, from, got.Text)
		}
	}
	list, err := clientOf(h).Notes(t.Context(), "demo", "demo/dm/7")
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.mail", bus.Inbound{From: "ana@shop.test", Chat: "team", Group: true, Text: "recall salary"})
	if got := out()[0].Text; strings.Contains(got, "the salary is 100") {
		t.Errorf("in a group: %s", got)
	}
}

// With shared, the direct chats are one session, each message answered where it came
// from; a reload takes that back.
func TestIdentitiesShareASession(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo"}, {Channel: "mail"}}
	cfg.Identities = map[string]identity.Config{"ana": {Accounts: []string{"demo/7", "mail/ana@shop.test"}, Shared: true}}
	h, _ := start(t, cfg)
	say := func(channel, from, text string) bus.Outbound {
		t.Helper()
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound."+channel, bus.Inbound{From: from, Text: text})
		return out()[0]
	}
	for _, tt := range []struct{ channel, from, session string }{
		{"mail", "ana@shop.test", "demo/dm/7"}, {"demo", "7", "demo/dm/7"}, {"mail", "bo@shop.test", "mail/dm/bo@shop.test"},
	} {
		if got := say(tt.channel, tt.from, "hello"); got.Session != tt.session || got.To != tt.from {
			t.Errorf("%s/%s: %+v, want session %s", tt.channel, tt.from, got, tt.session)
		}
	}
	state, _, err := clientOf(h).Sessions().State(t.Context(), "demo", sidOf(t, "demo/dm/7"))
	if err != nil || len(state.Messages) != 4 {
		t.Errorf("the session has %d messages, %v; want 4", len(state.Messages), err)
	}
}

func sidOf(t *testing.T, key string) string {
	t.Helper()
	sid, err := client.SessionID("demo", key)
	if err != nil {
		t.Fatal(err)
	}
	return sid
}
