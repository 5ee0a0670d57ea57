package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// A plugin whose platform counts by chat publishes two messages with one id.
func TestMessageIDOfTwoSessionsIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, watcher(`rules: [{text: "${text}"}]`))
	events := w.subscribe("agent.events.ana.duplicate_id")
	w.shortWindow()
	w.sayAs("100", bus.Inbound{From: "ana", Text: "first"})
	w.sayAs("100", bus.Inbound{ID: "other", From: "ana", Text: "the same session"})
	w.sayAs("100", bus.Inbound{From: "bea", Text: "another session"})
	w.sayAs("100", bus.Inbound{From: "cleo", Text: "and another"}) // in the same second, most likely
	w.sayAs("101", bus.Inbound{From: "bea", Text: "another id"})
	for range 4 {
		w.hear()
	}
	select {
	case msg := <-events:
		var got struct{ ID, Session, Other, Subject string }
		if err := json.Unmarshal(msg.Data, &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != "100" || got.Session != "demo/dm/bea" || got.Other != "demo/dm/ana" || got.Subject != "plugin.inbound.demo" {
			t.Errorf("got %+v", got)
		}
	case <-time.After(60 * time.Second):
		t.Error("no event")
	}
}

// shortWindow has AGENT_INBOUND remember ids for a moment only.
func (w *world) shortWindow() {
	w.t.Helper()
	stream, err := w.bus.JS.Stream(w.t.Context(), bus.InboundStream)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond
	if _, err := w.bus.JS.UpdateStream(w.t.Context(), cfg); err != nil {
		w.t.Fatal(err)
	}
}

// sayAs publishes until the stream has forgotten the id.
func (w *world) sayAs(id string, in bus.Inbound) {
	w.t.Helper()
	msg, err := bus.NewMessage("plugin.inbound.demo", in)
	if err != nil {
		w.t.Fatal(err)
	}
	msg.Header.Set(nats.MsgIdHdr, id)
	w.eventually("the end of the window", func() bool {
		ack, err := w.bus.JS.PublishMsg(w.t.Context(), msg)
		if err != nil {
			w.t.Fatal(err)
		}
		return !ack.Duplicate
	})
}
