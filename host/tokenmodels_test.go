package host_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/llm"
)

// A token for some agents sees and asks the models of these, and no other.
func TestTokenSeesTheModelsOfItsAgents(t *testing.T) {
	t.Parallel()
	cfg := apiFleet(t)
	cfg.Models["hidden"] = llm.Config{Provider: "echo"}
	cfg.Models["spare"] = llm.Config{Provider: "echo"}
	cfg.Agents[1].Model = agents.Names{"hidden"}
	own := cfg.Agents[0].Model[0]
	h, _ := start(t, cfg)
	for _, path := range []string{"/api/models", "/api/status"} {
		a := callAPI(t, h, someToken, http.MethodGet, path, "")
		if body := string(a.body); a.code != http.StatusOK || !strings.Contains(body, `"name":"`+own+`"`) || strings.Contains(body, "hidden") || strings.Contains(body, "spare") {
			t.Errorf("%s: got %d %s", path, a.code, body)
		}
		if a := askAPI(t, h, path); !strings.Contains(string(a.body), "hidden") || !strings.Contains(string(a.body), "spare") {
			t.Errorf("%s for all agents: got %s", path, a.body)
		}
	}
	play := func(token, model string) answered {
		return callAPI(t, h, token, http.MethodPost, "/api/agents/play", `{"agent":"demo","model":"`+model+`","no_tools":true,"messages":[{"role":"user","text":"hello"}]}`)
	}
	for _, model := range []string{"hidden", "spare", "unknown"} {
		a := play(someToken, model)
		if _, why := a.why(t); a.code != http.StatusNotFound || why != `there is no model "`+model+`"` {
			t.Errorf("play with %s: got %d %s", model, a.code, a.body)
		}
		a = callAPI(t, h, someToken, http.MethodPost, "/api/sessions/rerun", `{"agent":"demo","session":"demo/dm/x","model":"`+model+`"}`)
		if _, why := a.why(t); a.code != http.StatusNotFound || why != `there is no model "`+model+`"` {
			t.Errorf("rerun with %s: got %d %s", model, a.code, a.body)
		}
	}
	if a := play(someToken, own); a.code != http.StatusOK {
		t.Errorf("its own: got %d %s", a.code, a.body)
	}
	if a := play(adminToken, "hidden"); a.code != http.StatusOK {
		t.Errorf("all agents: got %d %s", a.code, a.body)
	}
}

// A token for one agent does not see what others have spent on a model that they share.
func TestTokenSeesWhatItsAgentsSpendOnAModel(t *testing.T) {
	t.Parallel()
	cfg := apiFleet(t)
	cfg.Agents[1].Model = cfg.Agents[0].Model
	h, _ := start(t, cfg)
	kv, err := h.Bus().JS.KeyValue(t.Context(), bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	day, model := time.Now().UTC().Format(time.DateOnly), cfg.Agents[0].Model[0]
	for i, amount := range []string{"100", "2300"} {
		record := `{"spent":` + amount + `,"models":{"` + model + `":` + amount + `}}`
		if _, err := kv.PutString(t.Context(), cfg.Agents[i].ID+"."+day, record); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/api/models", "/api/status"} {
		for token, want := range map[string]string{someToken: "100", adminToken: "2400"} {
			a := callAPI(t, h, token, http.MethodGet, path, "")
			_, list, _ := strings.Cut(string(a.body), `"models":`)
			if a.code != http.StatusOK || !strings.Contains(list, `"spent_today":`+want) {
				t.Errorf("%s: got %d %s, want %s to be spent", path, a.code, list, want)
			}
		}
	}
}

// The partitions of an agent are for those who may see the agent.
func TestTokenSeesThePartitionsOfItsAgents(t *testing.T) {
	t.Parallel()
	cfg := apiFleet(t)
	cfg.Agents[1].Partitions = 2
	cfg.Agents[1].Channels = []agents.Binding{{Channel: "hot"}}
	h, _ := start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.hot", bus.Inbound{ID: "1", From: "u1", Text: "hello"})
	waittest.Until(t, "a partition is served", func() bool { return strings.Contains(string(askAPI(t, h, "/api/fleet").body), `"other"`) })
	for _, path := range []string{"/api/fleet", "/api/status"} {
		if a := callAPI(t, h, someToken, http.MethodGet, path, ""); a.code != http.StatusOK || strings.Contains(string(a.body), `"other"`) {
			t.Errorf("%s: got %d %s", path, a.code, a.body)
		}
	}
}
