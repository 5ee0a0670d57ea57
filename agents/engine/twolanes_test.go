package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// The lane that brings the results of an agent may come to the next host before that which brings
// its messages. An edit that the log has waits for the message that it changes.
func TestEditWaitsForTheLaneOfItsMessage(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00", "m01")
		data, err := json.Marshal(bus.Inbound{ID: "e1", From: "ana", Text: "other", Edits: "m01"})
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.js.Publish(w.t.Context(), "plugin.inbound.ana", data); err != nil {
			w.t.Fatal(err)
		}
		w.pass()
		w.crash()
		time.Sleep(20 * time.Second)
		for n := range 4 { // a host that has the lane of the messages, and does not serve it
			c, err := w.js.Consumer(w.t.Context(), bus.InboundStream, delivery.LaneName(n))
			if err != nil {
				continue
			}
			list, err := c.Messages(jetstream.PullPriorityGroup("owner"))
			if err != nil {
				w.t.Fatal(err)
			}
			if _, err := list.Next(jetstream.NextMaxWait(3 * time.Second)); err != nil {
				w.t.Fatal(err)
			}
			list.Stop()
		}
		w.begin()
		stop, err := agents.StopMessageBy("cli", "ana", session.DM("ana", "", "ana"), "op", "Stop.", "")
		if err != nil {
			w.t.Fatal(err)
		}
		w.sendMsg(stop)
		time.Sleep(30 * time.Second)
		w.expect("reply", "m00")
		w.expect("reply", "other")
		w.settled()
		w.silent()
	})
}
