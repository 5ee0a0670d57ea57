package host_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/httpauth"
	"agenthost/internal/waittest"
)

const (
	adminToken = "the-token-of-an-admin"
	readToken  = "the-token-of-a-reader"
	someToken  = "the-token-for-one-agent"
)

// apiFleet is a host with two agents and tokens of each kind.
func apiFleet(t testing.TB) *config.Config {
	t.Helper()
	cfg := withTools(t)
	cfg.Agents[0].Description = "Answers customers."
	other := cfg.Agents[0]
	other.ID, other.Channels = "other", nil
	cfg.Agents = append(cfg.Agents, other)
	cfg.HTTP.Token = adminToken
	cfg.HTTP.Tokens = []httpauth.Token{
		{Name: "reader", Token: readToken, Role: httpauth.Read},
		{Name: "desk", Token: someToken, Role: httpauth.Admin, Agents: []string{cfg.Agents[0].ID}},
	}
	return cfg
}

// An answered is the answer to a request over HTTP.
type answered struct {
	code   int
	header http.Header
	body   []byte
}

func (a answered) into(t testing.TB, v any) {
	t.Helper()
	if a.code != http.StatusOK {
		t.Fatalf("got %d: %s", a.code, a.body)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
}

// why is the error in the answer.
func (a answered) why(t testing.TB) (code, message string) {
	t.Helper()
	body := struct {
		Error struct{ Code, Message string }
	}{}
	if err := json.Unmarshal(a.body, &body); err != nil || body.Error.Code == "" || body.Error.Message == "" {
		t.Errorf("no error as it should be: %d %s", a.code, a.body)
	}
	return body.Error.Code, body.Error.Message
}

func callAPI(t testing.TB, h *host.Host, token, method, path, body string, header ...string) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+h.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{res.StatusCode, res.Header, bytes.TrimSpace(data)}
}

func askAPI(t testing.TB, h *host.Host, path string, query ...string) answered {
	t.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return callAPI(t, h, adminToken, http.MethodGet, path, "")
}

func orderAPI(t testing.TB, h *host.Host, path string, body any) answered {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return callAPI(t, h, adminToken, http.MethodPost, path, string(data))
}

// What a console does, from the list of agents to the deletion of a session.
func TestAPI(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	w := asked(t, h, "write")
	show := func(what string, a answered) {
		t.Helper()
		if a.code != http.StatusOK {
			t.Errorf("%s: got %d", what, a.code)
		}
		t.Logf("EXAMPLE %s\n%s", what, a.body)
	}
	for _, path := range []string{
		"/status", "/fleet", "/agents", "/agents/prompt?agent=demo", "/runs", "/approvals", "/approvals/show?id=" + w.ID, "/approvals/allowed", "/sessions",
		"/sessions/show?agent=demo&session=" + url.QueryEscape(w.Session), "/sessions/events?limit=2&agent=demo&session=" + url.QueryEscape(w.Session), "/sessions/search?text=write",
		"/sessions/replay?agent=demo&session=" + url.QueryEscape(w.Session), "/dead", "/schedules", "/memory", "/pairings", "/channels", "/models", "/costs?people=true", "/why?id=" + w.Run,
	} {
		show("GET /api"+path, callAPI(t, h, adminToken, http.MethodGet, "/api"+path, ""))
	}
	show("answer", orderAPI(t, h, "/api/approvals/answer", map[string]any{"id": w.ID, "answer": "approve", "scope": "session"}))
	list := client.SessionListing{}
	waittest.Until(t, "the session is idle", func() bool {
		askAPI(t, h, "/api/sessions", "agent", "demo").into(t, &list)
		return len(list.Sessions) == 1 && list.Sessions[0].State == "idle"
	})
	key := string(list.Sessions[0].Key)
	show("again", orderAPI(t, h, "/api/agents/send", map[string]any{"agent": "demo", "text": "write", "session": "play"}))
	show("play", orderAPI(t, h, "/api/agents/play", map[string]any{"agent": "demo", "messages": []any{map[string]any{"role": "user", "text": "write"}}}))
	show("rerun", orderAPI(t, h, "/api/sessions/rerun", map[string]any{"agent": "demo", "session": key, "model": "echo"}))
	show("fork", orderAPI(t, h, "/api/sessions/fork", map[string]any{"agent": "demo", "session": key}))
	show("delete", orderAPI(t, h, "/api/sessions/delete", map[string]any{"agent": "demo", "session": key}))
	show("breaker", orderAPI(t, h, "/api/models/breaker", map[string]any{"model": "echo", "action": "trip"}))
	show("breaker", orderAPI(t, h, "/api/models/breaker", map[string]any{"model": "echo", "action": "reset"}))
	show("reload", orderAPI(t, h, "/api/reload", map[string]any{}))
	publishDead(t, h.Bus().NC, bus.DeadLetter{Subject: "plugin.inbound.demo", Reason: "broken"})
	waittest.Until(t, "the letter is stored", func() bool { return strings.Contains(string(askAPI(t, h, "/api/dead").body), "broken") })
	show("dead", askAPI(t, h, "/api/dead/show", "dead_seq", "1"))
	show("purge", orderAPI(t, h, "/api/dead/purge", map[string]any{"dead_seqs": []int{1}}))
}
