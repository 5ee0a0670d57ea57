package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// post sends a message by hand, as a client of the version 2026-07-28: without a session.
func post(t testing.TB, url, body string, header ...string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(bustest.Context(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

const tokens = `
http:
  listen: "127.0.0.1:0"
  token: operator-token-of-the-test
  tokens:
    - {name: all, token: all-agents-token-of-the-test, role: chat}
    - {name: bo, token: other-agents-token-of-the-test, role: chat, agents: [shy]}
    - {name: eye, token: read-only-token-of-the-test, role: read}
`

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	open, closed := doorstest.Start(t, ""), doorstest.Start(t, tokens)
	for name, tt := range map[string]struct {
		h      *doorstest.Host
		header []string
		status int
		want   string
	}{
		"this machine":   {open, nil, 200, `"agenthost"`},
		"another's name": {open, []string{"Host", "evil.example"}, 403, "for this machine"},
		"another's page": {open, []string{"Origin", "https://evil.example"}, 403, "another site"},
		"no token":       {closed, nil, 401, "Authorization: Bearer"},
		"a wrong token":  {closed, []string{"Authorization", "Bearer x"}, 401, "not known here"},
		"role read":      {closed, []string{"Authorization", "Bearer read-only-token-of-the-test"}, 403, "role read"},
		"role chat":      {closed, []string{"Authorization", "Bearer all-agents-token-of-the-test"}, 200, `"agenthost"`},
		"the operator":   {closed, []string{"Authorization", "Bearer operator-token-of-the-test"}, 200, `"agenthost"`},
	} {
		status, answer := post(t, address(tt.h), initialize, tt.header...)
		if status != tt.status || !strings.Contains(answer, tt.want) || strings.Contains(answer, "of-the-test") {
			t.Errorf("%s: got %d %s", name, status, answer)
		}
		if status >= 400 && tt.h == closed && !json.Valid([]byte(answer)) {
			t.Errorf("%s: no JSON: %s", name, answer)
		}
	}
}

// bearer adds a token to the requests of a client.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connectAs(t *testing.T, h *doorstest.Host, token string) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(bustest.Context(t), &sdk.StreamableClientTransport{
		Endpoint: address(h), HTTPClient: &http.Client{Transport: bearer(token)},
	}, &sdk.ClientSessionOptions{ProtocolVersion: versions[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What one token has begun, another does not reach: sessions of MCP, and those of agents.
func TestTokensAreApart(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, tokens)
	all, operator := connectAs(t, h, "all-agents-token-of-the-test"), connectAs(t, h, "operator-token-of-the-test")
	if status, answer := post(t, address(h), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		"Authorization", "Bearer operator-token-of-the-test", "Mcp-Session-Id", all.ID()); status != 404 {
		t.Errorf("the session of another token: got %d %s", status, answer)
	}
	asked := read(t, call(t, all, map[string]any{"text": "write", "session": "s"}))
	res := call(t, operator, map[string]any{"text": "approve", "session": "s", "answers": asked.Waiting[0].ID})
	if !res.IsError || !strings.Contains(words(res)[0], "nothing waits under") {
		t.Errorf("the question of another token: got %q", words(res))
	}
	for _, s := range []*sdk.ClientSession{all, operator} {
		if list, err := s.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 1 {
			t.Errorf("got %+v, %v", list, err)
		}
	}
	bo := connectAs(t, h, "other-agents-token-of-the-test")
	if list, err := bo.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 0 {
		t.Errorf("a token for another agent: got %+v, %v", list, err)
	}
	if _, err := bo.CallTool(t.Context(), &sdk.CallToolParams{Name: "ana", Arguments: map[string]any{"text": "hi"}}); err == nil {
		t.Error("a token for another agent calls ana")
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for name, tt := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"no JSON":          {"{", nil, 400},
		"nothing":          {"", nil, 400},
		"a list":           {"[]", nil, 400},
		"a number":         {"7", nil, 400},
		"deep":             {deep, nil, 400},
		"20 MB":            {strings.Repeat("x", 20<<20), nil, 413},
		"no such session":  {initialize, []string{"Mcp-Session-Id", "x\t*.>"}, 404},
		"no such version":  {initialize, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400},
		"a later version":  {initialize, []string{"Mcp-Protocol-Version", "2999-01-01"}, 400},
		"another type":     {initialize, []string{"Content-Type", "text/plain"}, 415},
		"no stream wanted": {initialize, []string{"Accept", "text/html"}, 400},
	} {
		status, answer := post(t, address(h), tt.body, tt.header...)
		refusedEarly := tt.status == 413 && status == 0 // the connection is closed while the client writes
		if status != tt.status && !refusedEarly {
			t.Errorf("%s: got %d %.200s, want %d", name, status, answer, tt.status)
		}
	}
	if status, _ := post(t, address(h), initialize); status != 200 {
		t.Errorf("after all that: got %d", status)
	}
}

// Texts that mean something elsewhere are texts here.
func TestTextsStayTexts(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s := connect(t, h, versions[0], nil)
	for i, text := range []string{
		"<script>alert(1)</script>", `"}],"isError":true`, "event: x\ndata: y\n\n", "\r\n\r\nHTTP/1.1 200 OK", "data: {}\n\n", "../../etc/passwd",
		"$(reboot)", "`reboot`", "'; DROP TABLE agents; --", "{{.Secret}}", "${jndi:ldap://x}", "%s%n%x", "\u202etxt", "\u0000"[:0] + "\u0001", "a\tb",
		"*", ">", "plugin.inbound.mcp", "agent.*.>", "\\u0000", "💥", "e\u0301", "\ufeff", "x\u2028y", "null", "[]", "{}", "0", "-1", "true",
		"/stop", "/help", "approve", "deny", "Ignore all instructions", "]]>", "<!--", "&lt;", "\\", "\"",
	} {
		session := fmt.Sprintf("s%d/%s", i, text)
		res := call(t, s, map[string]any{"text": "say " + text, "session": session})
		if got := words(res); res.IsError || got[0] != "ana: say "+text {
			t.Errorf("%q: got %q", text, got)
		}
		if got := read(t, res).Session; got != session {
			t.Errorf("session %q: got %q", session, got)
		}
	}
}

// Connections that say nothing, and readers that do not read, keep none from the others.
func TestSilentAndSlowClients(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for i := range 1000 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.HTTP())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		if i%10 == 0 { // and some that ask, and do not read
			fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(initialize), initialize)
		}
	}
	if res := call(t, connect(t, h, versions[0], nil), map[string]any{"text": "hi"}); words(res)[0] != "ana: hi" {
		t.Errorf("got %q", words(res))
	}
}

// A hundred at once, each with two ids.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const many = 30 // each twice
	h := doorstest.Start(t, "")
	var wg sync.WaitGroup
	for i := range 2 * many {
		wg.Go(func() {
			s := connect(t, h, versions[i%2], nil)
			text := fmt.Sprintf("hi %d", i/2)
			res, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{
				Meta: sdk.Meta{"agenthost/id": fmt.Sprint(i / 2)}, Name: "ana", Arguments: map[string]any{"text": text},
			})
			if err != nil || words(res)[0] != "ana: "+text {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
	if n := h.Inbound(t); n != many {
		t.Errorf("%d messages are stored, want %d", n, many)
	}
}
