package host_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins/settings"
)

// A request that is sent again gets the reply of the first, when that has long been
// given, and no second run.
func TestRepeatedRequestGetsItsReply(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.HTTP.Listen = "127.0.0.1:0"
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "webhook", Instance: "shop"}}
	cfg.Plugins.Webhook = map[string]settings.Webhook{"shop": {Secret: "x", Scheme: settings.SchemeToken, Reply: settings.ReplyResponse, Wait: waittest.Within}}
	h, _ := start(t, cfg)
	address := "http://" + h.HTTP() + "/hooks/shop"
	ask := func() (status int, reply bus.Outbound) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"id":"order-1","from":"shop","text":"hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(body, &reply)
		return res.StatusCode, reply
	}
	waittest.Until(t, "the account is served", func() bool {
		status, _ := ask()
		return status == http.StatusOK
	})
	_, first := ask()
	_, second := ask()
	if first.Text != "hello" || first.ID == "" || second.ID != first.ID || second.Text != first.Text || !second.Final {
		t.Errorf("first %+v, then %+v", first, second)
	}
	state, _, err := clientOf(h).Sessions().State(t.Context(), "demo", sidOf(t, "webhook.shop/dm/shop"))
	if err != nil || len(state.Messages) != 2 {
		t.Errorf("the session has %d messages, %v; want 2", len(state.Messages), err)
	}
}
