//go:build long

package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Whatever stands in a text comes back as that text, and moves nothing.
func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	events, _ := listen(t, h, adminToken, "?agent=demo&session=route/operator/hostile", "")
	await(t, events, "the stream has begun", named("hello"))
	if len(hostile) < 40 {
		t.Fatalf("only %d texts", len(hostile))
	}
	for i, text := range hostile {
		if strings.TrimSpace(strings.Trim(text, "\ufeff")) == "" {
			text += "x"
		}
		a := orderAPI(t, h, "/api/agents/send", map[string]any{"agent": "demo", "text": text, "session": "hostile", "id": fmt.Sprint("hostile-", i)})
		want := http.StatusOK
		if strings.ContainsRune(text, 0) { // no message has a NUL
			want = http.StatusBadRequest
		}
		if a.code != want {
			t.Errorf("%q: got %d %s", text, a.code, a.body)
			continue
		}
		quoted, _ := json.Marshal(text)
		var got []sseEvent
		if want == http.StatusOK {
			got = await(t, events, "the message "+text, func(e sseEvent) bool {
				return e.name == "event" && strings.Contains(e.data, fmt.Sprint(`"hostile-`, i, `"`)) && saysText(e.data, string(quoted))
			})
		}
		for _, e := range got {
			if e.name == "reset" || !json.Valid([]byte(e.data)) && e.name != "comment" {
				t.Errorf("%q: the stream has %+v", text, e)
			}
		}
		for _, path := range []string{"/api/sessions/search?text=", "/api/why?id=", "/api/sessions?agent=", "/api/memory?agent=demo&person=", "/api/approvals/show?id=", "/api/sessions/show?agent=demo&session="} {
			a := callAPI(t, h, adminToken, http.MethodGet, path+urlEscape(text), "")
			if a.code >= http.StatusInternalServerError || !json.Valid(a.body) || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%s%q: got %d %v %s", path, text, a.code, a.header, a.body)
			}
		}
		for _, body := range []map[string]any{
			{"agent": text, "text": "x"}, {"agent": "demo", "text": "x", "session": text},
		} {
			if a := orderAPI(t, h, "/api/agents/send", body); a.code >= http.StatusInternalServerError {
				t.Errorf("%v: got %d %s", body, a.code, a.body)
			}
		}
		if a := orderAPI(t, h, "/api/tokens/add", map[string]any{"name": text, "role": "read"}); (a.code == http.StatusOK) != tokenName.MatchString(text) {
			t.Errorf("a token of the name %q: got %d %s", text, a.code, a.body)
		}
	}
}
