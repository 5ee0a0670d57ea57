//go:build long

package engine_test

import (
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/signing"
)

// An answer that was stored before there was a key counts: an operator of version 0.1
// may have sent it.
func TestAnswersOfOldStreams(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	a := boss(&n)
	w := newWorld(t, a)
	w.say("ana", bus.Inbound{Text: "pay"})
	asked := w.hear()
	w.settled()
	w.stop()
	msg, err := bus.NewMessage("agent.route.ana", bus.Route{Kind: bus.RouteResult, From: "cli", CorrelationID: asked.Call, Text: "approve always"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.bus.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	kv, err := w.bus.JS.KeyValue(t.Context(), bus.LanesBucket)
	if err == nil {
		err = kv.Purge(t.Context(), signing.Key)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.start(a)
	w.expect("reply", "It says: paid")
	if n.Load() != 1 {
		t.Errorf("%d effects", n.Load())
	}
}
