package host_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/host"
	"agenthost/internal/waittest"
)

// eachOperation calls f with every operation that a host serves over HTTP.
func eachOperation(t *testing.T, h *host.Host, f func(o described)) {
	t.Helper()
	all := operationsOf(t, askAPI(t, h, "/api/openapi.json").body)
	if len(all) < 30 {
		t.Fatalf("only %d operations", len(all))
	}
	for _, o := range all {
		f(o)
	}
}

func TestRolesOfAPI(t *testing.T) {
	t.Parallel()
	cfg := apiFleet(t)
	h, _ := start(t, cfg)
	eachOperation(t, h, func(o described) {
		refused := map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized}
		if o.Role == "admin" {
			refused[readToken] = http.StatusForbidden
		} else if o.method == http.MethodPost {
			t.Errorf("%s %s is for the role %s", o.method, o.path, o.Role)
		}
		for token, code := range refused {
			a := callAPI(t, h, token, o.method, o.path, "")
			if a.why(t); a.code != code || code == http.StatusUnauthorized && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with %q: got %d", o.method, o.path, token, a.code)
			}
		}
		other := map[string]string{http.MethodGet: http.MethodPost, http.MethodPost: http.MethodGet}[o.method]
		allowed := map[string]string{http.MethodGet: "GET, HEAD", http.MethodPost: "POST"}[o.method]
		if a := callAPI(t, h, adminToken, other, o.path, ""); a.code != http.StatusMethodNotAllowed || a.header.Get("Allow") != allowed {
			t.Errorf("%s %s: got %d, Allow %q; want %q", other, o.path, a.code, a.header.Get("Allow"), allowed)
		}
	})
	if a := callAPI(t, h, adminToken, http.MethodPost, "/api/openapi.json", ""); a.code != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST openapi.json: got %d, Allow %q", a.code, a.header.Get("Allow"))
	}
	for _, path := range []string{"/api", "/api/", "/api/nothing", "/api/agents/", "/api/../api/nothing", "/api/agents%00", "/api/AGENTS"} {
		if a := callAPI(t, h, adminToken, http.MethodGet, path, ""); a.code != http.StatusNotFound && a.code != http.StatusMovedPermanently {
			t.Errorf("%s: got %d", path, a.code)
		}
		if a := callAPI(t, h, "", http.MethodGet, path, ""); a.code == http.StatusOK {
			t.Errorf("%s without a token: got %d", path, a.code)
		}
	}
}

// A page of another site makes its visitor's browser ask, with the visitor's cookie.
func TestForeignOriginOfAPI(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	open, _ := start(t, demo(t))
	cookie := login(t, h, adminToken)
	for name, tt := range map[string]struct {
		h      *host.Host
		header []string
		get    int
		post   int
	}{
		"another site":                 {h, []string{"Cookie", cookie, "Origin", "https://evil.example"}, 403, 403},
		"another site, by its browser": {h, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403, 403},
		"another port":                 {h, []string{"Cookie", cookie, "Origin", "http://127.0.0.1:1"}, 403, 403},
		"a program with the cookie":    {h, []string{"Cookie", cookie}, 200, 200},
		"a broken origin":              {h, []string{"Cookie", cookie, "Origin", "null"}, 403, 403},
		"this host":                    {h, []string{"Cookie", cookie, "Origin", "http://" + h.HTTP()}, 200, 200},
		"a forged cookie":              {h, []string{"Cookie", "agenthost_login=b3BlcmF0b3I.99999999999.AAAA"}, 401, 401},
		"a cookie of an issued token":  {h, []string{"Cookie", "agenthost_login=issued:" + adminToken + "x"}, 401, 401},
		"no token, another site":       {open, []string{"Origin", "https://evil.example"}, 403, 403},
		"no token, this machine":       {open, nil, 200, 200},
		"no token, another name":       {open, []string{"Host", "rebound.example"}, 200, 200}, // Host is no header here; see TestHTTPOnLoopbackIsForThisMachine
	} {
		if a := callAPI(t, tt.h, "", http.MethodGet, "/api/agents", "", tt.header...); a.code != tt.get {
			t.Errorf("%s: GET: got %d %s, want %d", name, a.code, a.body, tt.get)
		}
		if a := callAPI(t, tt.h, "", http.MethodPost, "/api/reload", "{}", tt.header...); a.code != tt.post {
			t.Errorf("%s: POST: got %d %s, want %d", name, a.code, a.body, tt.post)
		}
	}
}

// login logs in, and returns the cookie as a header has it.
func login(t *testing.T, h *host.Host, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.HTTP()+"/login", strings.NewReader("token="+token))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+h.HTTP())
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if len(res.Cookies()) != 1 {
		t.Fatalf("no cookie: %d", res.StatusCode)
	}
	return res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
}

// What no operation takes is refused with what would be right, and nothing panics.
func TestMalformedRequestsToAPI(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	for name, tt := range map[string]struct {
		path, body, why string
		code            int
	}{
		"10 MB":               {"/api/agents/send", `{"agent":"demo","text":"` + strings.Repeat("a", 10<<20) + `"}`, "1048576 bytes at most", 413},
		"broken JSON":         {"/api/runs/abort", `{"agent":`, "want an object with agent (a text), session (a text), optional reason (a text)", 400},
		"no object":           {"/api/runs/abort", `["demo"]`, "no JSON object: it is an array", 400},
		"two objects":         {"/api/runs/abort", `{"agent":"demo"} {}`, "no JSON object", 400},
		"no UTF-8":            {"/api/agents/send", `{"agent":"demo","text":"` + "\xff" + `"}`, "the body is not UTF-8", 400},
		"plain text":          {"/api/runs/abort", `agent=demo`, "no JSON object", 400},
		"nothing":             {"/api/runs/abort", ` `, "agent is missing; want", 400},
		"null":                {"/api/runs/abort", `null`, "agent is missing", 400},
		"an unknown field":    {"/api/runs/abort", `{"agent":"demo","session":"x","force":true}`, `unknown field "force"; want agent, session, reason`, 400},
		"another spelling":    {"/api/runs/abort", `{"Agent":"demo","session":"x"}`, `unknown field "Agent"`, 400},
		"by":                  {"/api/runs/abort", `{"agent":"demo","session":"x","by":"root"}`, "known by the token; leave it out", 400},
		"a number for a text": {"/api/runs/abort", `{"agent":1,"session":"x"}`, "agent: 1 is not what it takes; want a text", 400},
		"a text for a list":   {"/api/dead/purge", `{"dead_seqs":"1"}`, "want a list, each a whole number from 0 on", 400},
		"a negative number":   {"/api/dead/purge", `{"dead_seqs":[-1]}`, "want a list, each a whole number from 0 on", 400},
		"no choice":           {"/api/dead/purge", `{}`, "which dead letters?", 400},
		"args that are none":  {"/api/approvals/answer", `{"id":"x","answer":"approve","args":"x"}`, "nothing waits", 404},
		"a wrong action":      {"/api/models/breaker", `{"model":"echo","action":"break"}`, "want trip or reset", 400},
		"no messages":         {"/api/agents/play", `{"agent":"demo","messages":[]}`, "want 1 to 200", 400},
		"a wrong role":        {"/api/agents/play", `{"agent":"demo","messages":[{"role":"system","text":"x"}]}`, "the role \"system\"", 400},
		"a field too many":    {"/api/agents/play", `{"agent":"demo","messages":[{"role":"user","text":"x","tool":1}]}`, "want a list, each an object with role, text", 400},
		"an unknown model":    {"/api/agents/play", `{"agent":"demo","model":"gpt","messages":[{"role":"user","text":"x"}]}`, "there is echo", 404},
		"an unknown agent":    {"/api/agents/send", `{"agent":"dem","text":"x"}`, `did you mean "demo"?`, 404},
		"a key of a chat":     {"/api/agents/send", `{"agent":"demo","text":"x","session":"telegram/dm/1"}`, "want a name, or a key", 400},
		"a long id":           {"/api/agents/send", `{"agent":"demo","text":"x","id":"` + strings.Repeat("x", 257) + `"}`, "id has 257 bytes; want at most 256", 400},
		"a long session":      {"/api/agents/send", `{"agent":"demo","text":"x","session":"` + strings.Repeat("x", 257) + `"}`, "session has 257 bytes; want at most 256", 400},
		"no session":          {"/api/sessions/delete", `{"agent":"demo","session":"no key"}`, "no key of a session", 400},
		"a limit below 0":     {"/api/dead/retry", `{"all":true,"limit":-1}`, "want a whole number from 0 on", 400},
		"a deep nest":         {"/api/agents/send", strings.Repeat(`{"agent":`, 20_000), "no JSON object", 400},
	} {
		a := callAPI(t, h, adminToken, http.MethodPost, tt.path, tt.body)
		if _, why := a.why(t); a.code != tt.code || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %d %s, want %d and %q", name, a.code, a.body, tt.code, tt.why)
		}
	}
	for query, why := range map[string]string{
		"/api/sessions?limit=-1": "limit: \"-1\" is not what it takes; want a whole number from 0 on", "/api/audit?limit=-1": "from 0 on", "/api/dead?limit=-1": "from 0 on",
		"/api/sessions/events?agent=demo&session=x&limit=-1": "from 0 on", "/api/sessions/search?text=x&limit=-1": "from 0 on", "/api/costs?days=-1": "from 0 on",
		"/api/sessions?limit=1.5": "want a whole number", "/api/sessions?limit=99999999999999999999": "want a whole number",
		"/api/sessions?limit=many": "limit: \"many\" is not what it takes; want a whole number", "/api/sessions?agnet=demo": `unknown field "agnet"; want agent, limit`,
		"/api/sessions?agent=a&agent=b": "want it once", "/api/sessions?since=yesterday": "want a time such as", "/api/sessions?state=dead": "want idle, running, waiting or operator",
		"/api/sessions/show?agent=demo": "session is missing; want the parameters agent (a text), session (a text)", "/api/dead/show?dead_seq=-1": "want a whole number from 0 on",
		"/api/dead/show?dead_seq=1e99": "want a whole number", "/api/fleet?x=1": `unknown field "x"; this takes none`, "/api/dead?agent=*": "want 1 to 63",
		"/api/sessions/search?text=": "text is missing", "/api/costs?people=maybe": "want true or false", "/api/sessions/events?agent=demo&session=x": "no key of a session",
	} {
		a := callAPI(t, h, adminToken, http.MethodGet, query, "")
		if _, said := a.why(t); a.code != http.StatusBadRequest || !strings.Contains(said, why) {
			t.Errorf("%s: got %d %s, want %q", query, a.code, a.body, why)
		}
	}
	if a := callAPI(t, h, adminToken, http.MethodPost, "/api/reload", "a=b", "Content-Type", "application/x-www-form-urlencoded"); a.code != http.StatusUnsupportedMediaType {
		t.Errorf("a form: got %d", a.code)
	}
	if a := callAPI(t, h, adminToken, http.MethodPost, "/api/reload?x=1", "{}"); a.code != http.StatusBadRequest {
		t.Errorf("a query: got %d", a.code)
	}
}

// A token for some agents sees nothing of the others, by no operation.
func TestTokenForSomeAgents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	const secret = "the-word-of-the-other"
	if a := orderAPI(t, h, "/api/agents/send", map[string]any{"agent": "other", "text": "write", "session": secret}); a.code != http.StatusOK {
		t.Fatalf("got %d %s", a.code, a.body)
	}
	waittest.Until(t, "a call waits", func() bool { return strings.Contains(string(askAPI(t, h, "/api/approvals").body), secret) })
	w := struct {
		Waiting []struct{ ID, Run, Session string }
	}{}
	askAPI(t, h, "/api/approvals").into(t, &w)
	if err := h.Bus().NC.Publish(bus.DeadSubject("other"), []byte(`{"reason":"`+secret+`"}`)); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the letter is stored", func() bool { return strings.Contains(string(askAPI(t, h, "/api/dead").body), secret) })
	id, run, key := w.Waiting[0].ID, w.Waiting[0].Run, w.Waiting[0].Session
	eachOperation(t, h, func(o described) {
		if o.ID == "events" {
			return
		}
		requests := []string{""}
		if o.method == http.MethodGet {
			for _, q := range []string{"agent=other", "id=" + id, "id=" + run, "dead_seq=1", "text=" + secret, "agent=other&session=" + key, "people=true"} {
				requests = append(requests, "?"+q)
			}
		}
		for _, q := range requests {
			if a := callAPI(t, h, someToken, o.method, o.path+q, ""); strings.Contains(string(a.body), `"other"`) && a.code == http.StatusOK || strings.Contains(strings.ReplaceAll(string(a.body), q, ""), secret) && a.code == http.StatusOK {
				t.Errorf("%s %s%s: a token for demo sees %s", o.method, o.path, q, a.body)
			}
		}
	})
	for path, body := range map[string]string{
		"/api/approvals/answer": `{"id":"` + id + `","answer":"approve"}`, "/api/runs/abort": `{"agent":"other","session":"` + key + `"}`,
		"/api/sessions/delete": `{"agent":"other","session":"` + key + `"}`, "/api/sessions/fork": `{"agent":"other","session":"` + key + `"}`,
		"/api/sessions/rerun": `{"agent":"other","session":"` + key + `","model":"echo"}`, "/api/agents/send": `{"agent":"other","text":"x"}`,
		"/api/agents/play": `{"agent":"other","messages":[{"role":"user","text":"x"}]}`, "/api/dead/retry": `{"dead_seqs":[1]}`, "/api/dead/purge": `{"dead_seqs":[1]}`,
		"/api/reload": `{}`, "/api/models/breaker": `{"model":"echo","action":"trip"}`, "/api/tokens/add": `{"name":"x","role":"admin"}`,
	} {
		a := callAPI(t, h, someToken, http.MethodPost, path, body)
		if a.why(t); a.code != http.StatusNotFound && a.code != http.StatusForbidden {
			t.Errorf("%s: got %d %s", path, a.code, a.body)
		}
	}
	if all := callAPI(t, h, someToken, http.MethodPost, "/api/dead/purge", `{"all":true}`); all.code != http.StatusOK || strings.Contains(string(all.body), "1") {
		t.Errorf("all of its own: got %d %s", all.code, all.body)
	}
}

// hostile are texts that somebody may take for more than text.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, `</textarea><script>`, `'; DROP TABLE sessions;--`, `" OR "1"="1`,
	`{{7*7}}`, `${7*7}`, `#{7*7}`, `<%= 7*7 %>`, `$(touch /tmp/x)`, "`id`", `; rm -rf /`, `| cat /etc/passwd`, `../../../../etc/passwd`, `..%2f..%2fetc`,
	`agent.route.other`, `>`, `*`, `plugin.inbound.>`, "a\r\nSet-Cookie: x=1", "a\nid: 99-99\nevent: reset\ndata: {}", "data: x", ": comment", `\u0000`, "\u0000",
	"\u202eevil", "\ufeff", "%s%n%d", `{"agent":"other"}`, `[]`, `null`, `"`, `\`, `//`, `<!--`, `]]>`, `&lt;`, "\u2028\u2029", strings.Repeat("𝕏", 300), "-1", "1e309",
}

// tokenName is what a token may be called.
var tokenName = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// saysText reports whether a text stands in JSON, however it is escaped.
func saysText(data, quoted string) bool {
	var v, want any
	if json.Unmarshal([]byte(data), &v) != nil {
		return false
	}
	if json.Unmarshal([]byte(quoted), &want) != nil {
		return strings.Contains(data, quoted)
	}
	return hasText(v, want)
}

func hasText(v, want any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			if hasText(one, want) {
				return true
			}
		}
	case []any:
		for _, one := range v {
			if hasText(one, want) {
				return true
			}
		}
	case string:
		return v == want
	}
	return false
}

func urlEscape(text string) string { return url.QueryEscape(text) }
