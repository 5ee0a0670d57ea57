package host_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/host"
	"agenthost/internal/control"
	"agenthost/internal/waittest"
)

// revokedWithin is how long a token may count after its end.
const revokedWithin = time.Second

func TestTokensThatAreMade(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	made := struct{ Name, Token, Hash string }{}
	orderAPI(t, h, "/api/tokens/add", map[string]any{"name": "wall", "role": "read", "expires": "1h"}).into(t, &made)
	if !strings.HasPrefix(made.Token, "aht_") || made.Hash != "" {
		t.Errorf("got %+v", made)
	}
	lets := func(token, method, path string, code int) {
		t.Helper()
		waittest.Until(t, method+" "+path, func() bool { return callAPI(t, h, token, method, path, "").code == code })
	}
	lets(made.Token, http.MethodGet, "/api/agents", http.StatusOK)
	lets(made.Token, http.MethodGet, "/metrics", http.StatusOK)
	lets(made.Token, http.MethodPost, "/api/reload", http.StatusForbidden)
	lets(made.Token, http.MethodGet, "/api/tokens", http.StatusForbidden)
	lets(made.Token+"x", http.MethodGet, "/api/agents", http.StatusUnauthorized)
	if list := askAPI(t, h, "/api/tokens"); !strings.Contains(string(list.body), `"wall"`) || strings.Contains(string(list.body), "hash") {
		t.Errorf("got %s", list.body)
	}
	if a := orderAPI(t, h, "/api/tokens/add", map[string]any{"name": "wall", "role": "read"}); a.code != http.StatusConflict {
		t.Errorf("a name twice: got %d %s", a.code, a.body)
	}
	for body, why := range map[string]string{
		`{"name":"operator","role":"read"}`: "want another", `{"name":"A b","role":"read"}`: "want 1 to 63", `{"name":"a","role":"root"}`: "want admin, read or chat",
		`{"name":"a","role":"read","expires":"soon"}`: "want how long", `{"name":"a","role":"read","expires":"2001-01-01"}`: "expired already",
		`{"name":"a","role":"read","agents":["A b"]}`: "want 1 to 63", `{"role":"read"}`: "name is missing",
	} {
		a := callAPI(t, h, adminToken, http.MethodPost, "/api/tokens/add", body)
		if _, said := a.why(t); a.code != http.StatusBadRequest || !strings.Contains(said, why) {
			t.Errorf("%s: got %d %s", body, a.code, a.body)
		}
	}
	// a login ends with its token, and so do events
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.HTTP()+"/login", strings.NewReader(url.Values{"token": {made.Token}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+h.HTTP())
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	loggedIn := func() int {
		res, err := browser.Get("http://" + h.HTTP() + "/api/agents")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if code := loggedIn(); code != http.StatusOK {
		t.Errorf("after the login: got %d", code)
	}
	events, _ := listen(t, h, made.Token, "", "")
	await(t, events, "the stream has begun", named("hello"))
	orderAPI(t, h, "/api/tokens/revoke", map[string]any{"name": "wall"})
	end := time.Now().Add(revokedWithin)
	for callAPI(t, h, made.Token, http.MethodGet, "/api/agents", "").code != http.StatusUnauthorized {
		if time.Now().After(end) {
			t.Fatalf("the token counts for more than %s after its end", revokedWithin)
		}
	}
	if code := loggedIn(); code != http.StatusUnauthorized {
		t.Errorf("the login of a token that is no more: got %d", code)
	}
	waittest.Until(t, "the events end", func() bool {
		for {
			select {
			case _, open := <-events:
				if !open {
					return true
				}
			default:
				return false
			}
		}
	})
	if a := orderAPI(t, h, "/api/tokens/revoke", map[string]any{"name": "wall"}); a.code != http.StatusNotFound {
		t.Errorf("a second time: got %d %s", a.code, a.body)
	}
}

// A token with a name of the configuration would be refused by every host: it is not made.
func TestTokensWithANameOfTheConfiguration(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	a := callAPI(t, h, adminToken, http.MethodPost, "/api/tokens/add", `{"name":"desk","role":"read"}`)
	if _, why := a.why(t); a.code != http.StatusConflict || !strings.Contains(why, "the name is taken: http.tokens") {
		t.Errorf("over HTTP: got %d %s", a.code, a.body)
	}
	cli := client.New(h.Bus().NC, h.Bus().JS, client.Options{Door: bus.DoorCLI})
	if _, _, err := cli.AddToken(t.Context(), client.Token{Name: "reader", Role: "read"}); err == nil || !strings.Contains(err.Error(), "the name is taken: http.tokens") {
		t.Errorf("by command: got %v", err)
	}
	if list, err := cli.Tokens(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v, want none", list, err)
	}
	if _, _, err := cli.AddToken(t.Context(), client.Token{Name: "wall", Role: "read"}); err != nil {
		t.Error(err)
	}
}

// auditOf waits until the audit log of a host has n entries, and returns them, the
// oldest first.
func auditOf(t testing.TB, h *host.Host, n int) []client.AuditEntry {
	t.Helper()
	list := struct{ Entries []client.AuditEntry }{}
	waittest.Until(t, "the audit log has it", func() bool {
		askAPI(t, h, "/api/audit").into(t, &list)
		return len(list.Entries) >= n
	})
	slices.Reverse(list.Entries)
	return list.Entries
}

// Whatever the door, what is done is in the audit log once, with who did it.
func TestAudit(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	nc := h.Bus().NC
	cli := client.New(nc, h.Bus().JS, client.Options{Door: bus.DoorCLI, By: "root"})
	next := 0
	defer func() {
		if t.Failed() {
			t.Logf("the audit log: %s", askAPI(t, h, "/api/audit").body)
		}
	}()
	expect := func(want ...string) {
		t.Helper()
		next += len(want)
		entries := auditOf(t, h, next)
		if len(entries) != next {
			t.Fatalf("%v: got %d entries, want %d: %+v", want, len(entries), next, entries)
		}
		for i, w := range want {
			e := entries[next-len(want)+i]
			if got := strings.Join([]string{e.Door, e.By, e.Action}, " "); got != w || e.At.IsZero() {
				t.Errorf("got %+v, want %s", e, w)
			}
		}
	}
	w := asked(t, h, "write")
	orderAPI(t, h, "/api/approvals/answer", map[string]any{"id": w.ID, "answer": "approve"})
	expect("api operator approve")
	w = asked(t, h, "write")
	knock(t, nc, control.ApproveSubject, `{"id":"`+w.ID+`","answer":"deny","by":"desk"}`)
	expect("nats desk deny")
	asked(t, h, "write")
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "approve"})
	expect("plugin.inbound.demo ana approve")
	asked(t, h, "write")
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "/stop"})
	expect("plugin.inbound.demo ana abort")
	w = asked(t, h, "ask")
	if _, err := cli.Abort(t.Context(), client.Stop{Agent: "demo", Session: w.Session, By: "root"}, 0); err != nil {
		t.Fatal(err)
	}
	expect("cli root abort")
	w = asked(t, h, "ask")
	orderAPI(t, h, "/api/approvals/answer", map[string]any{"id": w.ID, "answer": "Red"})
	expect("api operator answer")
	waittest.Until(t, "the session is idle", func() bool {
		return strings.Contains(string(askAPI(t, h, "/api/sessions", "agent", "demo").body), `"state":"idle"`)
	})

	knock(t, nc, client.ReloadSubject, "")
	expect("nats agenthost reload")
	orderAPI(t, h, "/api/reload", map[string]any{})
	expect("api operator reload")
	callAPI(t, h, adminToken, http.MethodPost, "/api/models/breaker", `{"model":"echo","action":"trip"}`)
	expect("api operator breaker")
	if _, err := cli.ResetModel(t.Context(), "echo"); err != nil {
		t.Fatal(err)
	}
	expect("cli root breaker")
	if _, err := cli.Sessions().Fork(t.Context(), client.Branching{Agent: "demo", Session: w.Session}); err != nil {
		t.Fatal(err)
	}
	expect("cli root sessions-fork")
	if _, err := cli.Sessions().Delete(t.Context(), client.Removal{Agent: "demo", Session: w.Session}); err != nil {
		t.Fatal(err)
	}
	expect("cli root sessions-delete")
	if _, _, err := cli.AddToken(t.Context(), client.Token{Name: "x", Role: "read"}); err != nil {
		t.Fatal(err)
	}
	expect("cli root tokens-add")
	callAPI(t, h, adminToken, http.MethodPost, "/api/tokens/revoke", `{"name":"x"}`)
	expect("api operator tokens-revoke")
	for range 2 {
		publishDead(t, nc, bus.DeadLetter{Subject: "plugin.inbound.demo", Reason: "broken"})
	}
	waittest.Until(t, "the letters are stored", func() bool {
		return strings.Count(string(askAPI(t, h, "/api/dead").body), "broken") == 2
	})
	knock(t, nc, control.RetryDeadSubject, `{"dead_seqs":[1]}`)
	expect("nats agenthost dead-retry")
	dead, err := cli.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Delete(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	expect("cli root dead-purge")
	// what fails is not done
	callAPI(t, h, adminToken, http.MethodPost, "/api/tokens/revoke", `{"name":"x"}`)
	callAPI(t, h, readToken, http.MethodPost, "/api/reload", `{}`)
	callAPI(t, h, someToken, http.MethodPost, "/api/reload", `{}`)
	callAPI(t, h, someToken, http.MethodPost, "/api/agents/send", `{"agent":"demo","text":"hello"}`)
	expect("api desk send")
	data, _ := json.Marshal(auditOf(t, h, next))
	t.Logf("EXAMPLE GET /api/audit\n%s", data)
}

// A token that is made or revoked by one host counts, or ends, on the others of its NATS.
func TestTokensOfTwoHosts(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	one := apiFleet(t)
	one.NATS = bus.Config{URL: url}
	two := apiFleet(t)
	two.NATS = bus.Config{URL: url}
	blue, _ := start(t, one)
	green, _ := start(t, two)
	made := struct{ Token string }{}
	orderAPI(t, blue, "/api/tokens/add", map[string]any{"name": "wall", "role": "read"}).into(t, &made)
	status := func() int { return callAPI(t, green, made.Token, http.MethodGet, "/api/agents", "").code }
	waittest.Until(t, "the other host knows the token", func() bool { return status() == http.StatusOK })
	events, _ := listen(t, green, made.Token, "", "")
	await(t, events, "the stream has begun", named("hello"))
	orderAPI(t, blue, "/api/tokens/revoke", map[string]any{"name": "wall"})
	waittest.Until(t, "the other host refuses the token", func() bool { return status() == http.StatusUnauthorized })
	waittest.Until(t, "the events of the other host end", func() bool {
		select {
		case _, open := <-events:
			return !open
		default:
			return false
		}
	})
}
