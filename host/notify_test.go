package host_test

import (
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/waittest"
)

func TestNotify(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	to, err := client.ParseTarget("telegram.sales/42")
	if err != nil {
		t.Fatal(err)
	}
	m := client.NewMessage("the sale begins")
	for range 2 { // sent again it is the same message
		if _, err := clientOf(h).Notify(t.Context(), "demo", m, "cli", to); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "a notice", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	out := published(t, h)[0]
	if out.Kind != bus.KindNotice || out.To != "42" || out.Chat != "42" || out.Agent != "demo" || !out.Final {
		t.Errorf("got %+v", out)
	}
	if w := way(t, h, m.ID); w.State != "answered" || w.Kind != "inbound" {
		t.Errorf("why: got %+v", w)
	}
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]client.Target{
		"telegram.sales/42":     {Channel: "telegram", Instance: "sales", Chat: "42"},
		"web/ana":               {Channel: "web", Chat: "ana"},
		"irc.net/#room/1":       {Channel: "irc", Instance: "net", Chat: "#room/1"},
		"email.a/ana@shop.test": {Channel: "email", Instance: "a", Chat: "ana@shop.test"},
	} {
		if got, err := client.ParseTarget(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "web", "web/", "/42", "Web/42", "a.b.c/42", "web.>/42", "*/42"} {
		if got, err := client.ParseTarget(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}
