package a2a_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const tokens = `http:
  listen: 127.0.0.1:0
  token: all-secret
  tokens:
    - {name: eye, token: eye-secret, role: read}
    - {name: shop, token: shop-secret, role: chat, agents: [ana]}
    - {name: bank, token: bank-secret, role: chat, agents: [shy]}
`

func TestAdmission(t *testing.T) {
	t.Parallel()
	_, c := start(t, tokens)
	body := c.request("SendMessage", object{"message": said("m1", "hi")})
	for name, tt := range map[string]struct {
		token string
		want  int
	}{
		"no token": {"", 401}, "a wrong one": {"wrong", 401}, "one that reads": {"eye-secret", 403},
		"one for another agent": {"bank-secret", 404}, "one that chats": {"shop-secret", 200}, "the one for all": {"all-secret", 200},
	} {
		res := client{t, c.url, tt.token}.post(body)
		if res.StatusCode != tt.want || (res.Header.Get("WWW-Authenticate") != "") != (tt.want == 401) {
			t.Errorf("%s: got %d", name, res.StatusCode)
		}
	}
	shop, all := client{t, c.url, "shop-secret"}, client{t, c.url, "all-secret"}
	own := shop.send(said("m2", "mine"))
	if code, _ := all.call("GetTask", object{"id": own.ID}, nil); code != -32001 {
		t.Errorf("a task of another token: got %d", code)
	}
	if got := shop.get(own.ID); got.text() != "ana: mine" {
		t.Errorf("got %+v", got)
	}
	for _, url := range []string{strings.Replace(c.url, "ana", "shy", 1), strings.Replace(c.url, "ana", "nobody", 1)} {
		if res := (client{t, url, "all-secret"}).post(body); res.StatusCode != 404 {
			t.Errorf("%s: got %d", url, res.StatusCode)
		}
	}
}

func get(t *testing.T, url string, header ...string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(bustest.Context(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, data
}

func TestCard(t *testing.T) {
	t.Parallel()
	_, c := start(t, tokens)
	root := strings.TrimSuffix(c.url, "/a2a/ana")
	for name, tt := range map[string]struct {
		url    string
		header []string
		want   string // the address in it
	}{
		"of the agent":      {c.url + "/.well-known/agent-card.json", nil, c.url},
		"of the only agent": {root + "/.well-known/agent-card.json", nil, c.url},
		"behind a proxy": {
			c.url + "/.well-known/agent-card.json",
			[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.org, inner", "X-Forwarded-Prefix", "/fleet/"},
			"https://agents.example.org/fleet/a2a/ana",
		},
		"behind nonsense": {
			c.url + "/.well-known/agent-card.json",
			[]string{"X-Forwarded-Proto", "javascript", "X-Forwarded-Host", "a\"><b", "X-Forwarded-Prefix", "//x y"},
			c.url,
		},
	} {
		code, data := get(t, tt.url, tt.header...)
		var card struct {
			Name, Description   string
			SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
			Capabilities        struct{ Streaming bool }
			SecuritySchemes     map[string]any
		}
		if err := json.Unmarshal(data, &card); err != nil || code != 200 {
			t.Fatalf("%s: got %d %s, %v", name, code, data, err)
		}
		if card.Name != "ana" || card.Description != "Helps." || !card.Capabilities.Streaming || len(card.SecuritySchemes) != 1 {
			t.Errorf("%s: got %s", name, data)
		}
		want := []struct{ URL, ProtocolBinding, ProtocolVersion string }{{tt.want, "JSONRPC", "1.0"}}
		if diff := cmp.Diff(want, card.SupportedInterfaces); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if code, _ := get(t, root+"/a2a/shy/.well-known/agent-card.json"); code != 404 {
		t.Errorf("of an agent that the door does not lead to: got %d", code)
	}
}

// Text from outside stays text: in answers, tasks and cards nothing of it is anything
// else, and no request ends in a panic.
func TestStrangeText(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	for i, text := range []string{
		"<script>alert(1)</script>", "\"; DROP TABLE tasks; --", "${text}", "{{.}}", "%s%n", "../../etc/passwd", "a\r\nSet-Cookie: x=1", "\u202e\u2066",
		"/stop now", "data: {}\n\n", "\x1b[2J", "*", ">", "plugin.inbound.demo", "a.b", "a/b", "%2F", "\\", "🙂", "\t",
	} {
		id := fmt.Sprintf("%s %d", text, i)
		got := c.send(said(id, text+".", "contextId", text+"!"))
		if got.Status.State != completed || got.text() != "ana: "+text+"." || got.ContextID != text+"!" || got.History[0].ID != id {
			t.Errorf("%q: got %+v", text, got)
		}
		if again := c.get(got.ID); again.text() != got.text() {
			t.Errorf("%q: got %+v", text, again)
		}
	}
}

// Idle connections do not keep others from being answered.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	for range 1000 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.HTTP())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	if got := c.send(said("m", "hi")); got.text() != "ana: hi" {
		t.Errorf("got %+v", got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	long := strings.Repeat("x", 2<<20)
	for name, tt := range map[string]struct {
		body string
		code int
		why  string
	}{
		"no JSON":              {"{", -32700, "no valid JSON"},
		"no UTF-8":             {`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"` + "\xff" + `"}}`, -32700, "not UTF-8"},
		"nothing":              {"", -32700, ""},
		"a list":               {"[]", -32600, "one request"},
		"a text":               {`"SendMessage"`, -32600, "one request"},
		"null":                 {"null", -32600, "one request"},
		"a method of a number": {`{"jsonrpc":"2.0","id":1,"method":1}`, -32600, "method"},
		"a list of params":     {c.request("SendMessage", []any{1}), -32602, "params"},
		"no params of a task":  {`{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, -32602, "params are missing"},
		"no params to no end":  {`{"jsonrpc":"2.0","id":1,"method":"Nothing"}`, -32601, ""},
		"no method":            {`{"jsonrpc":"2.0","id":1}`, -32600, ""},
		"no such method":       {c.request("Nothing", object{}), -32601, ""},
		"version 0.3":          {c.request("message/send", object{}), -32601, "SendMessage"},
		"no params":            {`{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`, -32602, "params are missing"},
		"params of null":       {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":null}`, -32602, "params are missing"},
		"no params of a card":  {`{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, -32007, ""},
		"no message":           {c.request("SendMessage", object{}), -32602, "message is missing"},
		"no id":                {c.request("SendMessage", object{"message": said("", "hi")}), -32602, "messageId is missing"},
		"no role":              {c.request("SendMessage", object{"message": said("m", "hi", "role", "")}), -32602, "ROLE_USER"},
		"no parts":             {c.request("SendMessage", object{"message": said("m", "hi", "parts", []any{})}), -32602, "says nothing"},
		"a null part":          {c.request("SendMessage", object{"message": said("m", "hi", "parts", []any{nil})}), -32602, "null"},
		"text of a number":     {c.request("SendMessage", object{"message": said("m", "hi", "parts", []any{object{"text": 1}})}), -32602, ""},
		"an id of a number":    {c.request("GetTask", object{"id": 7}), -32602, "id cannot be a number"},
		"a text of a message":  {c.request("SendMessage", object{"message": "hi"}), -32602, "message cannot be a string"},
		"a time of no time":    {c.request("ListTasks", object{"statusTimestampAfter": "soon"}), -32602, ""},
		"a NUL":                {c.request("SendMessage", object{"message": said("m", "a\x00b")}), -32602, ""},
		"a long text":          {c.request("SendMessage", object{"message": said("m", long)}), -32602, "more than NATS takes"},
		"a long id":            {c.request("SendMessage", object{"message": said(long[:300], "hi")}), -32602, "256"},
		"a long context":       {c.request("SendMessage", object{"message": said("m", "hi", "contextId", long[:300])}), -32602, "256"},
		"a task of no context": {c.request("SendMessage", object{"message": said("m", "hi", "taskId", "x")}), -32001, ""},
		"no task":              {c.request("GetTask", object{"id": "x.00000000000000000000"}), -32001, "no task"},
		"no such task to end":  {c.request("CancelTask", object{"id": "x"}), -32001, ""},
		"history below 0":      {c.request("GetTask", object{"id": "x", "historyLength": -1}), -32602, "historyLength"},
		"a page of 1000":       {c.request("ListTasks", object{"pageSize": 1000}), -32602, "pageSize"},
		"another page":         {c.request("ListTasks", object{"pageToken": "x"}), -32602, "pageToken"},
		"push":                 {c.request("CreateTaskPushNotificationConfig", object{"taskId": "x", "url": "http://x"}), -32003, ""},
		"too large":            {strings.Repeat(" ", 20<<20), -32600, "16777216"},
		"deep nesting":         {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + strings.Repeat("[", 1<<20), -32700, ""},
	} {
		res := c.post(tt.body)
		var r reply
		if res.StatusCode != 200 || json.Unmarshal(res.Body, &r) != nil || r.Error == nil {
			t.Errorf("%s: got %d %.200s", name, res.StatusCode, res.Body)
		} else if r.Error.Code != tt.code || !strings.Contains(r.Error.Message, tt.why) {
			t.Errorf("%s: got %d %s", name, r.Error.Code, r.Error.Message)
		} else if strings.Contains(r.Error.Message, "Go ") || strings.Contains(r.Error.Message, "json:") {
			t.Errorf("%s: types of Go are nothing to a client: %s", name, r.Error.Message)
		}
	}
	for _, params := range []string{"", `,"params":null`, `,"params":{}`} {
		if data := c.post(`{"jsonrpc":"2.0","id":1,"method":"ListTasks"` + params + `}`).Body; !strings.Contains(string(data), `"tasks":[`) {
			t.Errorf("all tasks, by %q: got %s", params, data)
		}
	}
	for version, want := range map[string]string{"": "ana: hi", "1.0": "ana: hi", "1": "ana: hi", "0.3": "-32009", "2.0": "-32009"} {
		data := c.post(c.request("SendMessage", object{"message": said("m", "hi")}), "A2A-Version", version).Body
		if !strings.Contains(string(data), want) {
			t.Errorf("version %q: got %s", version, data)
		}
	}
	if code, data := get(t, c.url); code != 405 {
		t.Errorf("GET: got %d %s", code, data)
	}
	if res := c.post("{}", "Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site"); res.StatusCode != 403 {
		t.Errorf("from another site: got %d", res.StatusCode)
	}
}
