package host_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agenthost/internal/pairing"
)

// A code is taken as it is typed, also with a token for some agents, and of these alone.
func TestPairingCodesOfSomeAgents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	typed := func(agent, from string) string {
		t.Helper()
		p := pairing.Pairing{
			Agent: agent, Channel: "telegram", Instance: "sales", From: from, Code: pairing.NewCode(),
			AskedAt: time.Now(), Expires: time.Now().Add(time.Hour),
		}
		if _, err := pairing.NewStore(h.Bus().JS).Ask(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return `{"code":" ` + strings.ToLower(p.Code) + ` "}`
	}
	for path, from := range map[string]string{"/api/pairings/approve": "42", "/api/pairings/deny": "43"} {
		if a := callAPI(t, h, someToken, http.MethodPost, path, typed("other", from)); a.code != http.StatusNotFound {
			t.Errorf("%s: a code of another agent: got %d %s", path, a.code, a.body)
		}
		if a := callAPI(t, h, someToken, http.MethodPost, path, typed("demo", from)); a.code != http.StatusOK {
			t.Errorf("%s: got %d %s", path, a.code, a.body)
		}
	}
}
