//go:build long

package engine_test

import (
	"testing"

	"agenthost/bus"
)

// A run keeps its trace after a wait, also on another host.
func TestTraceOutlivesTheWait(t *testing.T) {
	t.Parallel()
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
			w.send("agent.route.ana", bus.Route{Kind: bus.RouteResult, From: "ops", CorrelationID: id, Text: "done"})
			wantHeader(t, w.next(w.out), traced)
		})
	}
}
