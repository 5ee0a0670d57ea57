package engine_test

import (
	"context"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/erasure"
	"agenthost/session"
)

// erase has the host forget a person, of all that was sent up to a message.
func (w *world) erase(place, from string, upTo uint64) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	order := erasure.Order{Person: erasure.Person{Place: place, From: from}, UpTo: map[string]uint64{bus.InboundStream: upTo}}
	if !w.fleet.Erase(ctx, order) {
		w.t.Fatal("something of them is still at work")
	}
}

// acknowledged waits until the host has no message that is not done.
func (w *world) acknowledged() {
	w.t.Helper()
	bustest.Eventually(w.t, "all messages are acknowledged", func() bool {
		for _, lag := range w.fleet.LaneLags() {
			if lag > 0 {
				return false
			}
		}
		return true
	})
}

// What was delivered before a person was erased, and is not in memory yet, does not get there.
func TestEraseWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]int{"agent": 0, "partitions": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := agents.Config{ID: "bot", Channels: []agents.Binding{{Channel: "web"}}, Partitions: parts}
			w := newWorld(t, actor{cfg: cfg, script: "rules: [{when: again, text: two}, {text: one}]"})
			w.erase("web", "ana", 1)
			w.say("web", bus.Inbound{From: "ana", Text: "hello"})
			w.say("web", bus.Inbound{From: "bo", Text: "hello"})
			if out := w.expect(bus.KindReply, "one"); out.To != "bo" {
				t.Errorf("it is said to %s", out.To)
			}
			w.acknowledged()
			w.silent()
			w.say("web", bus.Inbound{From: "ana", Text: "hello again"})
			w.expect(bus.KindReply, "two")
		})
	}
}

// What waits for more of its chat before a run begins is dropped, and acknowledged.
func TestEraseWhatIsCollected(t *testing.T) {
	t.Parallel()
	cfg := agents.Config{ID: "bot", Channels: []agents.Binding{{Channel: "web"}}, Session: session.Config{Queue: session.Collect, Debounce: time.Hour}}
	w := newWorld(t, actor{cfg: cfg, script: "rules: [{text: one}]"})
	w.say("web", bus.Inbound{From: "ana", Text: "hello"})
	w.say("web", bus.Inbound{From: "ana", Text: "and more"})
	queued := func(want int64) func() bool {
		return func() bool { return w.fleet.Status()[0].Queued == want }
	}
	bustest.Eventually(t, "both wait", queued(2))
	w.erase("web", "ana", 2)
	w.acknowledged()
	if !queued(0)() {
		t.Error("it still waits")
	}
	w.silent()
}
