package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/hooks"
	"agenthost/internal/control"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// A deleted session leaves the memory of its host, and whoever writes next
// starts over.
func TestDeleteSession(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Hooks = []hooks.Config{{On: "on_session_end", Subject: "acme.end"}}
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	told := respond(t, nc, "acme.end", func(hooks.Call) any { return map[string]string{"action": "continue"} })
	say := func(text string) {
		out := outbound(t, nc, 1)
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: text})
		out()
	}
	say("one")
	say("two")
	messages := func() int {
		list := client.SessionListing{}
		answerTo(t, nc, control.SessionsSubject, client.SessionPage{Agent: "demo"}, &list)
		if len(list.Sessions) != 1 {
			t.Fatalf("got %+v, want one session", list)
		}
		return list.Sessions[0].Messages
	}
	if n := messages(); n != 4 {
		t.Errorf("got %d messages, want 4", n)
	}
	d, err := clientOf(h).Sessions().Delete(t.Context(), client.Removal{Agent: "demo", Session: "demo/dm/ana"})
	if err != nil || d.Key != "demo/dm/ana" || d.Commits != 2 {
		t.Fatalf("got %+v, %v", d, err)
	}
	select {
	case got := <-told:
		if string(got.Args["reason"]) != `"deleted"` || string(got.Args["key"]) != `"demo/dm/ana"` {
			t.Errorf("on_session_end: got %s", got.Args)
		}
	case <-time.After(waittest.Within):
		t.Fatal("on_session_end was not fired")
	}
	say("three")
	if n := messages(); n != 2 {
		t.Errorf("got %d messages after the deletion, want 2", n)
	}
	fork := client.Fork{}
	answerTo(t, nc, control.ForkSessionSubject, client.Branching{Agent: "demo", Session: "demo/dm/ana"}, &fork)
	if fork.Key != "demo/dm/ana~fork-1" {
		t.Errorf("got %+v", fork)
	}
}

func answerTo(t *testing.T, nc *nats.Conn, subject string, in, out any) {
	t.Helper()
	msg := ask(t, nc, subject, in)
	if why := msg.Header.Get(micro.ErrorHeader); why != "" {
		t.Fatalf("%s: %s", subject, why)
	}
	if err := json.Unmarshal(msg.Data, out); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, nc *nats.Conn, subject string, in any) *nats.Msg {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestSessionDoorsRefuse(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	for subject, want := range map[string]string{
		client.DeleteSessionSubject: "404 there is no such session", control.ForkSessionSubject: "404 there is no such session",
	} {
		msg := ask(t, h.Bus().NC, subject, client.Removal{Agent: "demo", Session: "demo/dm/nobody"})
		got := msg.Header.Get(micro.ErrorCodeHeader) + " " + msg.Header.Get(micro.ErrorHeader)
		code, why, _ := strings.Cut(want, " ")
		if !strings.HasPrefix(got, code) || !strings.Contains(got, why) {
			t.Errorf("%s: got %q, want %q", subject, got, want)
		}
		if msg := ask(t, h.Bus().NC, subject, client.Removal{Agent: "demo", Session: "x"}); msg.Header.Get(micro.ErrorCodeHeader) != "400" {
			t.Errorf("%s: got %v for a bad key", subject, msg.Header)
		}
	}
}
