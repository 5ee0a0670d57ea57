package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// That was found out for a message of the log says nothing of a later one: between the two may be
// one that the lane has yet to bring.
func TestEditBehindAnotherMessageWaitsForTheLane(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		asked := w.hear()
		w.tell("m00") // waits in the log, and is acknowledged
		w.pass()
		w.model.hold("pay")
		w.approve(asked.Call, "")
		w.pass()
		w.tell("m01")
		w.alter(bus.Inbound{ID: "e1", Text: "other", Edits: "m01"})
		w.pass()
		w.crash()
		time.Sleep(20 * time.Second)
		w.holdLane(bus.InboundStream, time.Millisecond)
		w.begin()
		time.Sleep(time.Minute)
		w.wantSaid("pay=pay", "m00=m00", "m01=other")
		w.settled()
	}, has(counter(&paid)))
}

// The lane of a partition brings results as well. What it has brought last says how far it has
// come, whatever the lane of the agent itself has handed on.
func TestEditWaitsForTheLaneOfAPartition(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		asked := w.hear()
		w.model.hold("pay")
		w.model.hold("between")
		w.approve(asked.Call, "")
		w.pass()
		for n := range 400 {
			w.say("ana", bus.Inbound{From: fmt.Sprint("p", n), Text: "between"})
		}
		w.tell("m01")
		w.alter(bus.Inbound{ID: "e1", Text: "other", Edits: "m01"})
		w.pass()
		w.crash()
		time.Sleep(20 * time.Second)
		w.begin()
		for range 10 {
			w.fleet.Relieve(99, time.Hour)
		}
		time.Sleep(time.Minute)
		said := slices.DeleteFunc(w.said(), func(s string) bool { return strings.HasSuffix(s, "=between") })
		if want := []string{"pay=pay", "m01=other"}; !slices.Equal(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
		w.settled()
	}, has(counter(&paid)), func(a *actor) { a.cfg.Partitions, a.cfg.Limits.Concurrency = 2, 1000 })
}
