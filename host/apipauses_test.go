package host_test

import (
	"net/http"
	"strings"
	"testing"
)

// A token for some agents hears nothing of pauses of others, and the audit log says
// what was paused and which host was to end.
func TestPausesOfAPI(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	for _, o := range []map[string]any{{"agent": "other", "reason": "a secret reason"}, {"agent": "demo"}, {"channel": "telegram.sales"}, {"all": true}} {
		if a := orderAPI(t, h, "/api/pauses/begin", o); a.code != http.StatusOK {
			t.Fatalf("pause %v: got %d %s", o, a.code, a.body)
		}
	}
	for token, want := range map[string]int{adminToken: 4, readToken: 4, someToken: 3} {
		list := struct {
			Pauses []struct{ Agent, Channel string }
		}{}
		a := callAPI(t, h, token, http.MethodGet, "/api/pauses", "")
		a.into(t, &list)
		if len(list.Pauses) != want || want == 3 && strings.Contains(string(a.body), "secret") {
			t.Errorf("%s: got %s, want %d pauses", token, a.body, want)
		}
	}
	for body, want := range map[string]int{
		`{"all":true}`: http.StatusForbidden, `{"channel":"telegram.sales"}`: http.StatusForbidden, `{}`: http.StatusForbidden,
		`{"all":true,"agent":"demo"}`: http.StatusForbidden, `{"agent":"other"}`: http.StatusNotFound, `{"agent":"demo"}`: http.StatusOK,
	} {
		for _, path := range []string{"/api/pauses/end", "/api/pauses/begin"} {
			if a := callAPI(t, h, someToken, http.MethodPost, path, body); a.code != want {
				t.Errorf("%s %s of a token for one agent: got %d %s, want %d", path, body, a.code, a.body, want)
			}
		}
	}
	for _, o := range []map[string]any{{"agent": "other"}, {"agent": "demo"}, {"channel": "telegram.sales"}, {"all": true}} {
		if a := orderAPI(t, h, "/api/pauses/end", o); a.code != http.StatusOK {
			t.Fatalf("resume %v: got %d %s", o, a.code, a.body)
		}
	}
	for _, path := range []string{"/api/pauses/begin", "/api/pauses/end"} {
		for _, o := range []map[string]any{{}, {"all": false}, {"all": true, "agent": "demo"}, {"agent": "demo", "channel": "demo"}} {
			if a := orderAPI(t, h, path, o); a.code != http.StatusBadRequest || !strings.Contains(string(a.body), "one of agent, channel and all") {
				t.Errorf("%s %v: got %d %s", path, o, a.code, a.body)
			}
		}
	}
	log := struct {
		Entries []struct{ Action, Agent, Target, Detail string }
	}{}
	askAPI(t, h, "/api/audit").into(t, &log)
	found := map[string]bool{}
	for _, e := range log.Entries {
		found[strings.Join([]string{e.Action, e.Agent, e.Target, e.Detail}, "|")] = true
	}
	for _, want := range []string{"pause|other||a secret reason", "pause||telegram.sales|", "resume||telegram.sales|", "pause|||all", "resume|||all", "pause|demo||"} {
		if !found[want] {
			t.Errorf("the audit log lacks %s: %v", want, found)
		}
	}
}

// A pause of an agent or channel that there is not is kept for later, and its answer says so.
func TestPauseOfNoneWarns(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	for body, want := range map[string]string{
		`{"agent":"demoo"}`:    `no agent "demoo"; did you mean "demo"? (the pause is kept until there is one)`,
		`{"agent":"demo"}`:     "",
		`{"channel":"nope.x"}`: `no agent is bound to channel "nope.x" (the pause is kept until one is)`,
		`{"channel":"openai"}`: "",
		`{"all":true}`:         "",
	} {
		got := struct{ Warning, Since string }{}
		callAPI(t, h, adminToken, http.MethodPost, "/api/pauses/begin", body).into(t, &got)
		if got.Warning != want || got.Since == "" {
			t.Errorf("%s: got %+v, want %q", body, got, want)
		}
	}
}
