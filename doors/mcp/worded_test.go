package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

// What cannot be a message, or no request that there is, gets the errors of JSON-RPC over
// HTTP as it does on stdio, in words that name no type of Go.
func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	session := begun(t, address(h))
	for name, tt := range map[string]struct {
		body   string
		status int
		id     any
		code   int
		why    string
	}{
		"no JSON":      {`{bad`, 400, nil, -32700, "no message of JSON-RPC: the body is no JSON"},
		"no UTF-8":     {`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, 400, nil, -32700, "no message of JSON-RPC: the body is not UTF-8"},
		"a number":     {`5`, 400, nil, -32600, "no message of JSON-RPC: it is a number"},
		"a method":     {`{"jsonrpc":"2.0","id":1,"method":5}`, 400, nil, -32600, "no message of JSON-RPC: method cannot be a number"},
		"version":      {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400, nil, -32600, `no message of JSON-RPC: invalid message version tag "1.0"; expected "2.0"`},
		"nothing":      {" ", 400, nil, -32700, "no message of JSON-RPC: the body is empty"},
		"large id":     {`{"jsonrpc":"2.0","id":-9007199254740993,"method":"ping"}`, 400, -9007199254740993.0, -32600, "no message of JSON-RPC: its id is -9007199254740993; want a text, or a whole number up to 9007199254740991"},
		"nanoseconds":  {`{"jsonrpc":"2.0","id":9223372036854775807,"method":"tools/list"}`, 400, 9223372036854775807.0, -32600, "no message of JSON-RPC: its id is 9223372036854775807; want"},
		"half an id":   {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400, 1.5, -32600, "no message of JSON-RPC: its id is 1.5; want a text"},
		"null":         {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, nil, -32600, `invalid request: missing id for "ping"`},
		"no method":    {`{"jsonrpc":"2.0","id":"a","method":"foo/bar"}`, 200, "a", -32601, `method not found: "foo/bar"`},
		"no params":    {`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 200, 7.0, -32600, `invalid request: missing required "params"`},
		"a batch":      {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, nil, -32000, "batching is not supported"},
		"notification": {`{"jsonrpc":"2.0","method":"foo/bar"}`, 400, nil, -32600, `"foo/bar"`},
	} {
		status, answer := post(t, address(h), tt.body, "Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-06-18")
		checkFault(t, name, answer, tt.id, tt.code, tt.why)
		if status != tt.status {
			t.Errorf("%s: got the status %d, want %d", name, status, tt.status)
		}
	}
	status, answer := post(t, address(h), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", "gone")
	checkFault(t, "a session", answer, nil, -32000, "session not found")
	if status != http.StatusNotFound {
		t.Errorf("a session that there is not: got the status %d", status)
	}
}

// A request without a session, of a version that has some, gets an error with a code, except
// those that need none.
func TestRequestsWithoutASession(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for name, tt := range map[string]struct {
		body, version string
		status        int
		id            any
		code          int
		why           string
	}{
		"a call":         {callOf("1"), "", 400, 1.0, -32600, "begin a session with initialize"},
		"with a version": {callOf(`"a"`), "2025-06-18", 400, "a", -32600, "begin a session with initialize"},
		"a list":         {`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "", 400, 2.0, -32600, "begin a session with initialize"},
		"a discovery":    {`{"jsonrpc":"2.0","id":3,"method":"server/discover"}`, "", 200, 3.0, -32601, "server/discover"},
	} {
		status, answer := post(t, address(h), tt.body, "MCP-Protocol-Version", tt.version)
		checkFault(t, name, answer[strings.Index(answer, "{"):], tt.id, tt.code, tt.why)
		if status != tt.status {
			t.Errorf("%s: got the status %d, want %d", name, status, tt.status)
		}
	}
	const needsNone = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if status, answer := post(t, address(h), needsNone); status != http.StatusOK || !strings.Contains(answer, `"result":{}`) {
		t.Errorf("a ping: got %d %q", status, answer)
	}
	modern := strings.Replace(callOf("1"), `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`, 1)
	if _, answer := post(t, address(h), modern); strings.Contains(answer, "begin a session") {
		t.Errorf("a call of the version without sessions: got %q", answer)
	}
}

func callOf(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"ana","arguments":{"text":"hi"}}}`
}

// begun begins a session of MCP, and returns its id.
func begun(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(bustest.Context(t), http.MethodPost, url, strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.Header.Get("Mcp-Session-Id")
}

func checkFault(t *testing.T, name, answer string, id any, code int, why string) {
	t.Helper()
	var got struct {
		JSONRPC string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Errorf("%s: got %q, %v", name, answer, err)
		return
	}
	if got.JSONRPC != "2.0" || got.ID != id || got.Error.Code != code || !strings.Contains(got.Error.Message, why) {
		t.Errorf("%s: got %s, want the id %v, %d and %q", name, answer, id, code, why)
	}
}
