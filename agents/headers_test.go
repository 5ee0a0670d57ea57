package agents_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	state  = "rojo=00f067aa0ba902b7"
)

// sayTraced is say of a message in a trace.
func (w *world) sayTraced(channel string, in bus.Inbound) {
	w.t.Helper()
	if in.From == "" {
		in.From = "ana"
	}
	data, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	msg := nats.NewMsg("plugin.inbound." + channel)
	msg.Data = data
	msg.Header["traceparent"], msg.Header["tracestate"] = []string{parent}, []string{state}
	if err := w.bus.NC.PublishMsg(msg); err != nil {
		w.t.Fatal(err)
	}
}

// next waits for the next message that comes to a subscription.
func (w *world) next(c chan *nats.Msg) *nats.Msg {
	w.t.Helper()
	select {
	case m := <-c:
		return m
	case <-time.After(15 * time.Second):
		w.t.Fatal("no message comes")
		return nil
	}
}

func wantHeader(t *testing.T, m *nats.Msg, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := m.Header.Get(key); got != value {
			t.Errorf("%s: header %s is %q, want %q, of %s", m.Subject, key, got, value, m.Data)
		}
	}
}

var traced = map[string]string{"traceparent": parent, "tracestate": state}

// Whoever the run waits for, and wherever it goes on, it stays in its trace.
func TestTraceOutlivesTheWait(t *testing.T) {
	a := bot("ana", script(paying), has(handing("ops")), asks("ops"))
	ops := bot("ops", script(`rules: [{delay: 60s, text: late}]`))
	for name, between := range map[string]func(*world){
		"same host": func(*world) {},
		"next host": func(w *world) { w.stop(); w.start(a, ops) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a, ops)
			w.sayTraced("ana", bus.Inbound{Text: "hand over"})
			id := w.waiting().ID
			between(w)
			w.publish("agent.route.ana", bus.Route{Kind: bus.RouteResult, From: "ops", CorrelationID: id, Text: "done"})
			wantHeader(t, w.next(w.out), traced)
		})
	}
}
