package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/control"
	"agenthost/internal/waittest"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const asking = `
rules:
  - {is: write, tool_calls: [{name: write_file, args: {path: note.txt, text: written}}]}
  - {is: ask, tool_calls: [{name: ask_human, args: {question: "Which?", options: [Red, Blue]}}]}
  - {after_tool: "*", text: "tool said: ${result}"}
`

func withTools(t testing.TB) *config.Config {
	t.Helper()
	cfg := scripted(t, asking)
	cfg.Agents[0].Tools = []string{"*"}
	return cfg
}

// asked says something that leads to a question, and returns what waits.
func asked(t *testing.T, h *host.Host, text string) client.Waiting {
	t.Helper()
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: text})
	var list []client.Waiting
	waittest.Until(t, "a call waits", func() bool {
		var err error
		list, err = clientOf(h).Waiting(t.Context())
		return err == nil && len(list) == 1
	})
	return list[0]
}

// knock asks at an endpoint, and returns what it answers or why not.
func knock(t *testing.T, nc *nats.Conn, subject, request string) (answer, code, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, subject, []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	return string(msg.Data), msg.Header.Get(micro.ErrorCodeHeader), msg.Header.Get(micro.ErrorHeader)
}

func TestApproveByTheService(t *testing.T) {
	t.Parallel()
	h, _ := start(t, withTools(t))
	nc := h.Bus().NC
	w := asked(t, h, "write")
	id, err := json.Marshal(w.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ request, code, why string }{
		"no JSON":              {`{`, "400", "request: "},
		"no id":                {`{}`, "404", "nothing waits"},
		"unknown":              {`{"id":"demo.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbb","answer":"approve"}`, "404", "nothing waits"},
		"another word":         {`{"id":` + string(id) + `,"answer":"perhaps"}`, "400", `"perhaps" is no answer to an approval`},
		"args that do not fit": {`{"id":` + string(id) + `,"answer":"approve","args":{"path":5}}`, "409", "path"},
		"another scope":        {`{"id":` + string(id) + `,"answer":"approve","scope":"ever"}`, "400", `scope is "ever"; want one of once, session, always`},
	} {
		if answer, code, why := knock(t, nc, control.ApproveSubject, tt.request); code != tt.code || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %q, %s, %s", name, answer, code, why)
		}
	}
	out := outbound(t, nc, 1)
	if answer, _, why := knock(t, nc, control.ApproveSubject, `{"id":`+string(id)+`,"answer":"approve","scope":null,"args":null}`); answer != `{"ok":true}` {
		t.Errorf("got %q, %s", answer, why)
	}
	if r := out()[0]; !strings.HasPrefix(r.Text, "tool said: wrote 7 bytes") {
		t.Errorf("got %q", r.Text)
	}
}

// What a person says is compared without the blanks at its ends, and so are the
// options.
func TestAnswerToAnOptionWithBlanks(t *testing.T) {
	w := client.Waiting{ID: "demo.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbb", Agent: "demo", Kind: client.ForQuestion, Options: []string{" red ", "blue\n"}}
	for text, fits := range map[string]bool{" red ": true, "Red": true, "blue": true, "green": false, " ": false} {
		if _, err := (client.Answer{ID: w.ID, Text: text}).Message(w, ""); (err == nil) != fits {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestAbortByTheService(t *testing.T) {
	t.Parallel()
	h, _ := start(t, withTools(t))
	nc := h.Bus().NC
	asked(t, h, "ask")
	for name, tt := range map[string]struct{ request, code, why string }{
		"no JSON":    {`[]`, "400", "request: "},
		"no agent":   {`{"session":"demo/dm/ana"}`, "404", `there is no agent ""`},
		"no session": {`{"agent":"demo"}`, "400", "no session is named"},
		"bad reason": {`{"agent":"demo","session":"demo/dm/ana","reason":"\u0000"}`, "400", "NUL"},
	} {
		if answer, code, why := knock(t, nc, control.AbortSubject, tt.request); code != tt.code || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %q, %s, %s", name, answer, code, why)
		}
	}
	out := outbound(t, nc, 1)
	if answer, _, why := knock(t, nc, control.AbortSubject, `{"agent":"demo","session":"demo/dm/ana","reason":"Enough."}`); answer != `{"ok":true}` {
		t.Errorf("got %q, %s", answer, why)
	}
	if r := out()[0]; r.Kind != "error" || r.Error.Code != "cancelled" || r.Text != "Enough." {
		t.Errorf("got %+v", r)
	}
}

func TestStatusTellsOfMissingTools(t *testing.T) {
	t.Parallel()
	cfg := withTools(t)
	cfg.Services = map[string]tools.ServiceConfig{"billing": {}}
	h, _ := start(t, cfg)
	waittest.Until(t, "the fault is known", func() bool {
		faults := hostStatus(t, h).ToolFaults
		return len(faults) == 1 && strings.HasPrefix(faults[0], `service "billing": `)
	})
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	h, _ := start(t, withTools(t))
	js := h.Bus().JS
	kv, err := js.KeyValue(t.Context(), bus.AllowedBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "demo.all.x", []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	list, err := clientOf(h).Allowed(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "demo.all.x" || !strings.HasPrefix(list[0].What, "this entry was not written by a host") {
		t.Errorf("got %+v, %v", list, err)
	}
	if _, err := clientOf(h).Revoke(t.Context(), "demo.all.x"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"demo.all.x", "", "a b"} {
		if _, err := clientOf(h).Revoke(t.Context(), id); err == nil || !strings.Contains(err.Error(), "nothing is allowed under this id") {
			t.Errorf("%q: got %v", id, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := clientOf(h).Allowed(gone); err == nil {
		t.Error("no error when it is stopped")
	}
}

func TestAnswerMessage(t *testing.T) {
	question := client.Waiting{ID: "i", Agent: "demo", Kind: client.ForQuestion}
	for name, tt := range map[string]struct {
		w    client.Waiting
		a    client.Answer
		want string
	}{
		"approve":            {client.Waiting{Kind: client.ForApproval}, client.Answer{Text: " Approve ", Scope: "always"}, ""},
		"empty":              {question, client.Answer{Text: " "}, "it has no text"},
		"scope of a text":    {question, client.Answer{Text: "blue", Scope: "once"}, "a scope needs the answer approve"},
		"what no host takes": {question, client.Answer{Text: "a\x00b"}, "NUL"},
		"for an agent":       {client.Waiting{Kind: client.ForDelegate, To: "kate"}, client.Answer{Text: "x"}, "it waits for the agent kate"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.w.ID = "demo.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbb"
			_, err := tt.a.Message(tt.w, "")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
