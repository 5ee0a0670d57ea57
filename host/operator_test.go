package host_test

import (
	"context"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/waittest"
	"agenthost/internal/why"

	"github.com/nats-io/nats.go/micro"
)

// A front end takes a chat over by the service, without a line of this repository.
func TestOperatorBySubjects(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc, c := h.Bus().NC, clientOf(h)
	order := func(subject, text string) string {
		t.Helper()
		msg := ask(t, nc, subject, client.OperatorOrder{Agent: "demo", Session: "demo/dm/ana", By: "kate", Text: text})
		return msg.Header.Get(micro.ErrorCodeHeader) + msg.Header.Get(micro.ErrorHeader) + string(msg.Data)
	}
	if got := order(client.TakeOverSubject, ""); !strings.HasPrefix(got, "404") {
		t.Errorf("a chat that there is not: %s", got)
	}
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "hello"})
	out()
	for _, subject := range []string{client.SaySubject, client.HandBackSubject} {
		if got := order(subject, "hello"); !strings.HasPrefix(got, "409") || !strings.Contains(got, "the chat is not taken over") {
			t.Errorf("%s before a takeover: %s", subject, got)
		}
	}
	if got := order(client.TakeOverSubject, ""); got != `{"ok":true,"session":"demo/dm/ana"}` {
		t.Errorf("takeover: %s", got)
	}
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ana", Text: "are you there?"})
	waittest.Until(t, "the operator hears", func() bool {
		w, err := why.Find(t.Context(), h.Bus().JS, "m2", nil)
		return err == nil && w.State == why.Waiting && w.Steps[len(w.Steps)-1].What == why.Heard
	})
	out = outbound(t, nc, 1)
	if got := order(client.SaySubject, "Yes."); got != `{"ok":true,"session":"demo/dm/ana"}` {
		t.Errorf("say: %s", got)
	}
	if said := out()[0]; said.Text != "Yes." || said.InReplyTo != "m2" || said.To != "ana" {
		t.Errorf("what went out: %+v", said)
	}
	w, err := why.Find(t.Context(), h.Bus().JS, "m2", nil)
	if err != nil || w.State != why.Answered {
		t.Errorf("why m2: %+v, %v", w, err)
	}
	list, err := c.Sessions().List(t.Context(), client.SessionPage{})
	if err != nil || list.Sessions[0].State != client.OperatorSession || list.Sessions[0].For[0] != "kate" {
		t.Errorf("the list has %+v, %v", list.Sessions, err)
	}
	if got := order(client.HandBackSubject, ""); got != `{"ok":true,"session":"demo/dm/ana"}` {
		t.Errorf("handback: %s", got)
	}
	if got := ask(t, nc, client.TakeOverSubject, client.OperatorOrder{Agent: "nobody", Session: "demo/dm/ana"}); got.Header.Get(micro.ErrorCodeHeader) != "404" {
		t.Errorf("of an agent that there is not: %v", got.Header)
	}
}

// A takeover is found by the next host.
func TestOperatorOutlivesARestart(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	h, stop := start(t, cfg)
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "hello"})
	out()
	c := clientOf(h)
	if _, err := c.TakeOver(context.Background(), client.OperatorOrder{Agent: "demo", Session: "demo/dm/an"}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Say(t.Context(), client.OperatorOrder{Agent: "demo", Session: "demo/dm/ana", Text: " "}, 0); err == nil {
		t.Error("an empty text is sent")
	}
	stop()
	h, _ = start(t, cfg) // the same store
	out = outbound(t, h.Bus().NC, 1)
	if _, err := clientOf(h).Say(t.Context(), client.OperatorOrder{Agent: "demo", Session: "demo/dm/ana", Text: "I am still here."}, 0); err != nil {
		t.Fatal(err)
	}
	if said := out()[0]; said.Text != "I am still here." {
		t.Errorf("said %+v", said)
	}
}
