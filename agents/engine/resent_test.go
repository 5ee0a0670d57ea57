package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// A task that is sent again gets its result where it asks for it now, and works once.
func TestTaskSentAgainNamesWhereItsResultGoes(t *testing.T) {
	t.Parallel()
	ops := bot("ops", script(`rules: [{times: 1, text: done}, {text: twice}]`))
	w := newWorld(t, ops)
	ask := func(subject string) {
		t.Helper()
		heard := make(chan *nats.Msg, 1)
		sub, err := w.bus.NC.ChanSubscribe(subject, heard)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		w.publish("agent.route.ops", bus.Route{ID: "t1", Kind: bus.RouteDelegate, From: "prog", CorrelationID: "c1", Text: "go", ReplyTo: subject})
		select {
		case m := <-heard:
			result := bus.Route{}
			if err := json.Unmarshal(m.Data, &result); err != nil {
				t.Fatal(err)
			}
			if result.Text != "done" || result.CorrelationID != "c1" {
				t.Errorf("heard %s on %s, want done", m.Data, subject)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("nothing is said on %s", subject)
		}
		w.settled()
	}
	ask("my.old")
	former := make(chan *nats.Msg, 10)
	sub, err := w.bus.NC.ChanSubscribe("my.old", former)
	if err != nil {
		t.Fatal(err)
	}
	ask("my.new")
	if err := sub.Unsubscribe(); err != nil || len(former) > 0 {
		t.Errorf("my.old hears %d more results, %v", len(former), err)
	}
	w.stop()
	w.start(ops)
	ask("my.newest")
}
