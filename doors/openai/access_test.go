package openai_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

const tokens = `
http:
  listen: "127.0.0.1:0"
  token: all
  tokens:
    - {name: ci, token: ci-secret, role: chat}
    - {name: look, token: look-secret, role: read}
    - {name: other, token: other-secret, role: chat, agents: [shy]}
`

func bearer(token string) header { return header{"Authorization": "Bearer " + token} }

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, tokens)
	for name, tt := range map[string]struct {
		headers header
		status  int
		typ     any
	}{
		"no token":           {nil, 401, "authentication_error"},
		"a wrong token":      {bearer("x"), 401, "authentication_error"},
		"an empty token":     {bearer(""), 401, "authentication_error"},
		"a reader":           {bearer("look-secret"), 403, "permission_error"},
		"for another agent":  {bearer("other-secret"), 404, "invalid_request_error"},
		"a chat token":       {bearer("ci-secret"), 200, nil},
		"the operator":       {bearer("all"), 200, nil},
		"a page's forged id": {header{"Cookie": "agenthost_login=x", "Origin": "https://evil.test"}, 401, "authentication_error"},
	} {
		a := ask(t, h, "POST", chatPath, chatOf("hi"), tt.headers)
		if a.Status != tt.status || a.get(t, "error", "type") != tt.typ {
			t.Errorf("%s: got %d %s", name, a.Status, a.Body)
		}
		if a.Status == 401 && a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
	a := ask(t, h, "POST", chatPath, chatOf("hi"), bearer("ci-secret"))
	if _, err := h.Client.Sessions().Find(t.Context(), "ana", "openai.ci/dm/"+a.Header.Get("Agent-Session")); err != nil {
		t.Errorf("the session of a token: %v", err)
	}
}

// What one token has asked is nothing to another.
func TestTokensAreApart(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, tokens)
	with := func(token string) header {
		return header{"Authorization": "Bearer " + token, "Idempotency-Key": "k", "Agent-Session": "s"}
	}
	first := ask(t, h, "POST", chatPath, chatOf("one"), with("all"))
	second := ask(t, h, "POST", chatPath, chatOf("two"), with("ci-secret"))
	if first.content(t) != "ana: one" || second.content(t) != "ana: two" {
		t.Errorf("got %s, %s", first.Body, second.Body)
	}
	mine := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "mine"}, bearer("all"))
	id, _ := mine.get(t, "id").(string)
	if a := ask(t, h, "GET", "/v1/responses/"+id, nil, bearer("ci-secret")); a.Status != 404 {
		t.Errorf("the response of another token: got %+v", a)
	}
	next := object{"model": "ana", "input": "more", "previous_response_id": id}
	if a := ask(t, h, "POST", "/v1/responses", next, bearer("ci-secret")); a.Status != 404 {
		t.Errorf("behind the response of another token: got %+v", a)
	}
}

func TestOtherSitesMayNotAsk(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	if a := ask(t, h, "POST", chatPath, chatOf("hi"), header{"Origin": "https://evil.test"}); a.Status != 403 || a.get(t, "error", "type") != "permission_error" {
		t.Errorf("got %+v", a)
	}
}

func TestWithoutNATS(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	address := h.HTTP()
	if err := h.Client.JetStream().DeleteStream(t.Context(), "AGENT_INBOUND"); err != nil {
		t.Fatal(err)
	}
	a := askAt(bustest.Context(t), t, address, "POST", chatPath, chatOf("hi"), nil)
	if a.Status != 503 || a.Header.Get("Retry-After") == "" || a.get(t, "error", "code") != "internal" {
		t.Errorf("got %+v", a)
	}
}

// Whatever a text holds, it comes back as it was.
func TestTextsStayTexts(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for i, text := range []string{
		"<script>alert(1)</script>", "'; DROP TABLE agents; --", "${jndi:ldap://x}", "{{7*7}}", "../../etc/passwd", "a\r\ndata: {\"x\":1}\r\n\r\n",
		"a\u2028b\u2029", "data: [DONE]", "event: x\n\n", "\\u0000", "😀\u200d", strings.Repeat("a", 100_000), "%s%n%x", "plugin.outbound.>", "\x1b[2J",
		"Ünï", "日本", "a\tb",
	} {
		req := chatOf(text)
		req["stream"] = true
		in := header{"Agent-Session": fmt.Sprintf("%d <%.30s>", i, strings.Map(printable, text))}
		a := ask(t, h, "POST", chatPath, req, in)
		if a.streamed() != "ana: "+text {
			t.Errorf("%.40q: got %.200s", text, a.Body)
		}
		if got := a.Header.Get("Agent-Session"); got != in["Agent-Session"] {
			t.Errorf("%.40q: got the session %q, want %q", text, got, in["Agent-Session"])
		}
	}
}

func printable(r rune) rune {
	if r < ' ' && r != '\t' || r == 127 {
		return '_'
	}
	return r
}

// A client that goes away loses nothing: asked again, the answer is there.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	conn, err := net.Dial("tcp", h.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"model":"ana","stream":true,"messages":[{"role":"user","content":"story"}]}`)
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n%s", chatPath, h.HTTP(), len(body), body)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("got %q, %v", line, err)
	}
	conn.Close()
	a := ask(t, h, "POST", chatPath, string(body), header{"Idempotency-Key": "k"})
	if a.streamed() != "Once upon a time." || h.Inbound(t) != 1 {
		t.Errorf("got %s, %d messages", a.Body, h.Inbound(t))
	}
}

// Idle connections do not keep others out, and are closed.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for range 1000 {
		conn, err := net.DialTimeout("tcp", h.HTTP(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if a := ask(t, h, "POST", chatPath, chatOf("hi"), nil); a.content(t) != "ana: hi" {
		t.Errorf("got %+v", a)
	}
}

// A path that there is says which methods it takes; one that there is not is 404.
func TestMethods(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for path, allow := range map[string]string{
		chatPath: "POST", "/v1/responses": "POST", "/v1/responses/x": "GET, HEAD", "/v1/models": "GET, HEAD", "/v1/models/ana": "GET, HEAD", "/v1/embeddings": "",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			if strings.Contains(allow, method) {
				continue
			}
			want := 405
			if allow == "" {
				want = 404
			}
			a := ask(t, h, method, path, nil, nil)
			message, _ := a.get(t, "error", "message").(string)
			if a.Status != want || a.Header.Get("Allow") != allow || a.get(t, "error", "code") != "validation" || !strings.Contains(message, method+" ") {
				t.Errorf("%s %s: got %+v", method, path, a)
			}
		}
	}
}
