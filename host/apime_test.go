package host_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/host"
	"agenthost/internal/httpauth"
)

// A page learns who has logged in, and what they may.
func TestAPISaysWhoAsks(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.HTTP.Tokens = []httpauth.Token{{Name: "eye", Token: "eye-secret", Role: httpauth.Read}, {Name: "shop", Token: "shop-secret", Role: httpauth.Chat}, {Name: "one", Token: "one-secret", Role: httpauth.Admin, Agents: []string{"demo"}}}
	guarded, _ := start(t, cfg)
	open, _ := start(t, demo(t))
	me := func(h *host.Host) string { return "http://" + h.HTTP() + "/api/me" }
	for name, tt := range map[string]struct {
		url, token string
		status     int
		want       string
	}{
		"a reader":             {me(guarded), "eye-secret", 200, `"name":"eye","role":"read"`},
		"of some agents":       {me(guarded), "one-secret", 200, `"name":"one","role":"admin","limited":true`},
		"who only chats":       {me(guarded), "shop-secret", 403, "chat"},
		"with a field":         {me(guarded) + "?agent=demo", "eye-secret", 400, `unknown field \"agent\"; this takes none`},
		"no token":             {me(guarded), "", 401, "token"},
		"where all are let in": {me(open), "", 200, `"name":"operator","role":"admin","open":true`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: got %d %s", name, res.StatusCode, body)
		}
	}
}
