//go:build long

package engine_test

import (
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
)

// clustered is a world whose streams have three copies each.
func clustered(t *testing.T, actors ...actor) (*world, *bustest.Cluster) {
	c := bustest.StartCluster(t)
	return newWorldOn(t, bustest.OpenConfig(t, bus.Config{URL: c.URL(0)}), 3, actors...), c
}

// An approval goes on though the copy that is asked has neither the session nor
// what waits in it.
func TestApprovalWhileACopyLags(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	a := bot("ana", script(paying), has(counter(&n)))
	w, c := clustered(t, a)
	catchUp := c.Lag(bus.SessionsStream, "KV_"+bus.WaitingBucket, "KV_"+bus.LanesBucket)
	defer catchUp()
	w.say("ana", bus.Inbound{Text: "pay"})
	asked := w.hear()
	w.settled()
	w.stop()
	w.start(a)
	w.send("agent.route.ana", bus.Route{Kind: "result", From: "cli", Door: bus.DoorCLI, CorrelationID: asked.Call, Text: "approve"})
	w.expect("reply", "It says: paid")
	w.settled()
	if n.Load() != 1 {
		t.Errorf("got %d effects", n.Load())
	}
	w.silent()
}

// What a message that comes again has been answered is published if it never
// was, and is not published twice.
func TestReplyWhileACopyLags(t *testing.T) {
	t.Parallel()
	w, c := clustered(t, bot("ana", script(paying)))
	again := bus.Inbound{ID: "m1", Text: "hi"}
	t.Run("published", func(t *testing.T) {
		defer c.Lag(bus.OutboundStream)()
		w.say("ana", again)
		w.expect("reply", "You said: hi")
		w.settled()
		w.say("ana", again)
		w.eventually("it has come again", func() bool { return w.stored(bus.InboundStream) == 2 })
		w.settled()
		w.silent()
	})
	t.Run("not published", func(t *testing.T) {
		defer c.Lag(bus.SessionsStream)()
		again.ID = "m2"
		w.say("ana", again)
		first := w.expect("reply", "You said: hi")
		w.settled()
		out, err := w.bus.JS.Stream(t.Context(), bus.OutboundStream)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.say("ana", again)
		if second := w.expect("reply", "You said: hi"); second.ID != first.ID {
			t.Errorf("got reply %s, want %s once more", second.ID, first.ID)
		}
		w.settled()
	})
}
