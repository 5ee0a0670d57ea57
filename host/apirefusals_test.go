package host_test

import (
	"net/http"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/waittest"
)

// What a request has wrong is said with a status for that: 503 would have a program
// send it again and again.
func TestWhatIsWrongWithARequestIsNoOutage(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	w := asked(t, h, "write")
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "bea", Text: "write"})
	waittest.Until(t, "two calls wait", func() bool {
		list, err := clientOf(h).Waiting(t.Context())
		return err == nil && len(list) == 2
	})
	for name, tt := range map[string]struct {
		path string
		body map[string]any
		code int
		why  string
	}{
		"an id of several":             {"/api/approvals/answer", map[string]any{"id": "demo.", "answer": "approve"}, http.StatusBadRequest, "is not unique"},
		"a place that the log has not": {"/api/sessions/fork", map[string]any{"agent": "demo", "session": w.Session, "at": "999.9"}, http.StatusNotFound, "no such place"},
		"a message too large":          {"/api/agents/send", map[string]any{"agent": "demo", "text": strings.Repeat("x", 1<<20-100)}, http.StatusBadRequest, "shorten it"},
		"an order too large":           {"/api/sessions/say", map[string]any{"agent": "demo", "session": w.Session, "text": strings.Repeat("x", 1<<20-100)}, http.StatusBadRequest, "shorten it"},
		"a text with a NUL":            {"/api/agents/send", map[string]any{"agent": "demo", "text": "a\x00b"}, http.StatusBadRequest, "NUL"},
		"words with a NUL":             {"/api/sessions/say", map[string]any{"agent": "demo", "session": w.Session, "text": "a\x00b"}, http.StatusBadRequest, "NUL"},
		"no words":                     {"/api/sessions/say", map[string]any{"agent": "demo", "session": w.Session, "text": " "}, http.StatusBadRequest, "it is empty"},
		"a long name of a person":      {"/api/agents/send", map[string]any{"agent": "demo", "text": "x", "session": "route/" + strings.Repeat("x", 257) + "/y"}, http.StatusBadRequest, "session has 257 bytes"},
		"no run under way":             {"/api/runs/abort", map[string]any{"agent": "demo", "session": "demo/dm/unknown"}, http.StatusConflict, "there is nothing to stop"},
	} {
		a := orderAPI(t, h, tt.path, tt.body)
		if _, why := a.why(t); a.code != tt.code || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %d %s, want %d and %q", name, a.code, a.body, tt.code, tt.why)
		}
	}
	a := askAPI(t, h, "/api/approvals/show", "id", "demo.")
	if _, why := a.why(t); a.code != http.StatusBadRequest {
		t.Errorf("show an id of several: got %d %s", a.code, why)
	}
}

// A token for some agents finds by a shortened id what is theirs: ids of other agents stand in
// no error, and make none of its own ambiguous.
func TestShortIDSaysNothingOfOtherAgents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	for _, name := range []string{"x", "y"} {
		orderAPI(t, h, "/api/agents/send", map[string]any{"agent": "other", "text": "write", "session": name})
	}
	var list []client.Waiting
	waittest.Until(t, "two calls wait", func() bool {
		var err error
		list, err = clientOf(h).Waiting(t.Context())
		return err == nil && len(list) == 2
	})
	for _, id := range []string{"o", list[0].ID} {
		for _, a := range []answered{
			callAPI(t, h, someToken, http.MethodGet, "/api/approvals/show?id="+id, ""),
			callAPI(t, h, someToken, http.MethodPost, "/api/approvals/answer", `{"id":"`+id+`","answer":"approve"}`),
		} {
			if _, why := a.why(t); a.code != http.StatusNotFound || strings.Contains(strings.ReplaceAll(why, `"`+id+`"`, ""), "other.") {
				t.Errorf("%s: got %d %s", id, a.code, a.body)
			}
		}
	}
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "write"})
	waittest.Until(t, "its own call is found", func() bool {
		return callAPI(t, h, someToken, http.MethodGet, "/api/approvals/show?id=d", "").code == http.StatusOK
	})
}

// Behind the last commit of a session there are no events, and the session is there.
func TestEventsBehindTheLast(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	w := asked(t, h, "write")
	list := struct {
		Events []any  `json:"events"`
		Next   uint64 `json:"next"`
	}{}
	askAPI(t, h, "/api/sessions/events", "agent", "demo", "session", w.Session, "from", "999999").into(t, &list)
	if list.Events == nil || len(list.Events) != 0 || list.Next != 0 {
		t.Errorf("got %+v, want an empty last page", list)
	}
	if a := askAPI(t, h, "/api/sessions/events", "agent", "demo", "session", "demo/dm/unknown", "from", "999999"); a.code != http.StatusNotFound {
		t.Errorf("no session: got %d %s", a.code, a.body)
	}
}

// Sessions whose chats were taken over can be listed, as the console does.
func TestSessionsTakenOverAreListed(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	w := asked(t, h, "write")
	orderAPI(t, h, "/api/sessions/takeover", map[string]any{"agent": "demo", "session": w.Session})
	waittest.Until(t, "the session is listed as taken over", func() bool {
		list := client.SessionListing{}
		askAPI(t, h, "/api/sessions", "state", client.OperatorSession).into(t, &list)
		return len(list.Sessions) == 1 && string(list.Sessions[0].Key) == w.Session
	})
}

// To a token for some agents an id of another agent is as one that there is not.
func TestWhySaysNothingOfOtherAgents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	orderAPI(t, h, "/api/agents/send", map[string]any{"agent": "other", "text": "hello", "session": "x", "id": "secret-1"})
	waittest.Until(t, "the message is known", func() bool { return askAPI(t, h, "/api/why", "id", "secret-1").code == http.StatusOK })
	ask := func(id string) string {
		a := callAPI(t, h, someToken, http.MethodGet, "/api/why?id="+id, "")
		if a.code != http.StatusNotFound {
			t.Errorf("%s: got %d %s", id, a.code, a.body)
		}
		return strings.ReplaceAll(string(a.body), id, "ID")
	}
	if other, none := ask("secret-1"), ask("nothing-1"); other != none {
		t.Errorf("of another agent: %s\nof nothing:       %s", other, none)
	}
}
