package main

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/internal/control"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An ask is told once; the word of a host to an order is not the answer.
func TestAsksAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialog{inbox: "inbox", asks: "asks", received: make(chan *nats.Msg)}
		go func() {
			for _, m := range []nats.Msg{
				{Subject: "asks", Data: []byte(`garbage`)},
				{Subject: "asks", Data: []byte(`{"kind":"approval","text":"no call"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"notice","call":"n","text":"no ask"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"approval","call":"a","agent":"ana","text":"pay"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"approval","call":"a","agent":"ana","text":"pay"}`)},
				{Subject: "asks", Data: []byte(`{"kind":"question","call":"b","agent":"kate","text":"which","options":["x"]}`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"a","in_reply_to":"o","error":{"message":"late"}}`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"c","in_reply_to":"q","text":"hello"}`)},
			} {
				d.received <- &m
			}
		}()
		var asked []control.Waiting
		var told []string
		a, err := d.answer(t.Context(), question{id: "q"}, listener{
			asked: func(w control.Waiting) { asked = append(asked, w) },
			told:  func(r bus.Route) { told = append(told, r.InReplyTo, r.Error.Message) },
		})
		if err != nil || a.Text != "hello" {
			t.Errorf("got %q, %v", a.Text, err)
		}
		want := []control.Waiting{
			{ID: "a", Agent: "ana", Kind: control.ForApproval, Prompt: "pay"},
			{ID: "b", Agent: "kate", Kind: control.ForQuestion, Prompt: "which", Options: []string{"x"}},
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"o", "late"}, told); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What was asked while NATS was away is found when it is back.
func TestAskedWhileAway(t *testing.T) {
	_, nc := waitsFor(t, control.Waiting{Kind: control.ForApproval, Prompt: "pay", Origin: &bus.Origin{Subject: "asks"}})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := newDialog(nc, js, "ana", "me", "s")
	d.asks, d.again = "asks", make(chan nats.Status, 2)
	d.again <- nats.CONNECTED
	d.again <- nats.CONNECTED
	var asked []string
	_, err = d.answer(ctx, question{id: "q", text: "hi"}, listener{asked: func(w control.Waiting) {
		asked = append(asked, w.ID)
		cancel()
	}})
	if err == nil || !cmp.Equal(asked, []string{waitID}) {
		t.Errorf("asked %v, %v", asked, err)
	}
	for _, other := range []string{"elsewhere", ""} {
		d.asks, d.asked = other, nil
		if err := d.missed(t.Context(), listener{asked: func(w control.Waiting) { t.Errorf("asked %v", w) }}); err != nil {
			t.Error(err)
		}
	}
	nc.Close()
	if again := d.askAgain(t.Context(), question{}, listener{}); again == nil {
		t.Error("a connection that is away is not tried again")
	}
}

// Who is asked is told where to: on a subject that the host takes.
func TestQuestionsNameWhereToAsk(t *testing.T) {
	_, nc := waitsFor(t, control.Waiting{})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	d := newDialog(nc, js, "ana", "me", "s")
	if err := d.listen(false); err != nil {
		t.Fatal(err)
	}
	defer d.close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := d.send(ctx, newQuestion("hi")); err != nil {
		t.Fatal(err)
	}
	r := firstRoute(t, nc)
	if diff := cmp.Diff(&bus.Origin{Session: "s", Subject: d.asks, To: "me"}, r.Origin); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	data, err := json.Marshal(bus.Outbound{Kind: bus.KindQuestion, Call: "a", Text: "which"})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(d.asks, data); err != nil {
		t.Fatal(err)
	}
	_, err = d.answer(ctx, question{}, listener{asked: func(control.Waiting) { cancel() }})
	if err == nil || !d.asked["a"] {
		t.Errorf("asked %v, %v", d.asked, err)
	}
}
