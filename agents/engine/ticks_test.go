package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// A heartbeat tick whose decision hangs holds up nothing: neither other messages of
// its agent, be they more than its inbox holds, nor its neighbours in the lane.
func TestSlowHeartbeatDelaysNoNeighbour(t *testing.T) {
	t.Parallel()
	const echo = `rules: [{text: "${text}"}]`
	ana := watcher(echo)
	neighbour := actor{cfg: agents.Config{ID: neighbourOf("ana"), Channels: []agents.Binding{{Channel: "other"}}}, script: echo}
	w := newWorld(t)
	w.stop()
	asked, answer := make(chan struct{}), make(chan struct{})
	w.change = func(p *engine.Options) {
		p.Beat = func(ctx context.Context, _ string, _ time.Time, _, _ bool) (first, run bool, err error) {
			close(asked)
			select {
			case <-answer:
			case <-ctx.Done():
			}
			return true, true, ctx.Err()
		}
	}
	w.start(ana, neighbour)
	w.tick(0, "a tick")
	<-asked
	for i := range 100 {
		w.send("agent.route.ana", bus.Route{ID: fmt.Sprint("e", i), Kind: bus.RouteEvent, From: "e", Text: "an event", Origin: toAna})
	}
	w.send("agent.route."+neighbour.cfg.ID, bus.Route{ID: "n", Kind: bus.RouteEvent, From: "e", Text: "the neighbour", Origin: &bus.Origin{
		Agent: neighbour.cfg.ID, Subject: "plugin.outbound.other", To: "bea",
	}})
	for range 101 {
		if out := w.hear(); out.Text == "a tick" {
			t.Fatal("the tick has become a run before that was decided")
		}
	}
	close(answer)
	w.expect("notice", "a tick")
}

// neighbourOf is the id of another agent whose lane, of four, is that of agent.
func neighbourOf(agent string) string {
	for i := 0; ; i++ {
		if id := fmt.Sprint("agent-", i); engine.LaneOf(id, 4) == engine.LaneOf(agent, 4) {
			return id
		}
	}
}

// Ticks are decided one after the other, in their order; what cannot be decided in
// time is left out at a bound, and is not delivered again.
func TestTicksAreDecidedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	decided, answer := make(chan time.Time, 100), make(chan struct{})
	w.change = func(p *engine.Options) {
		p.Beat = func(ctx context.Context, _ string, due time.Time, _, _ bool) (first, run bool, err error) {
			select {
			case <-answer:
			case <-ctx.Done():
			}
			decided <- due
			return true, false, ctx.Err()
		}
	}
	w.start(watcher(`rules: [{text: "${text}"}]`))
	consumer := func() *jetstream.ConsumerInfo {
		c, err := w.bus.JS.Consumer(t.Context(), bus.SchedulesStream, delivery.LaneName(engine.LaneOf("ana", 4)))
		if err != nil {
			t.Fatal(err)
		}
		return c.CachedInfo()
	}
	for i := range 50 {
		w.tick(i, "a tick")
	}
	waittest.Until(t, "those beyond the bound are left out", func() bool {
		info := consumer()
		return info.NumPending == 0 && info.NumAckPending == 32
	})
	w.say("demo", bus.Inbound{Text: "hello"})
	w.expect("reply", "hello")
	w.send("agent.route.ana", bus.Route{ID: "e", Kind: bus.RouteEvent, From: "e", Text: "after the ticks", Origin: toAna})
	w.expect("notice", "after the ticks")
	close(answer)
	var dues []time.Time
	for range 32 {
		select {
		case due := <-decided:
			dues = append(dues, due)
		case <-time.After(60 * time.Second):
			t.Fatalf("%d ticks were decided, want 32", len(dues))
		}
	}
	if !slices.IsSortedFunc(dues, time.Time.Compare) {
		t.Errorf("decided out of order: %v", dues)
	}
	waittest.Until(t, "all are acknowledged", func() bool {
		info := consumer()
		return info.NumAckPending == 0 && info.NumPending == 0
	})
	if len(decided) > 0 {
		t.Errorf("%d more than 32 were decided", len(decided))
	}
}

// A tick that is not decided when the host stops is left to the next one.
func TestStopLeavesTicksToTheNextHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	asked := make(chan struct{}, 10)
	w.change = func(p *engine.Options) {
		p.Beat = func(ctx context.Context, _ string, _ time.Time, _, _ bool) (first, run bool, err error) {
			asked <- struct{}{}
			<-ctx.Done()
			return false, false, ctx.Err()
		}
	}
	w.start(watcher(`rules: [{text: "${text}"}]`))
	w.tick(0, "first")
	<-asked
	w.tick(1, "second")
	w.stop()
	w.change = nil
	w.start(watcher(`rules: [{text: "${text}"}]`))
	for range 2 {
		if out := w.hear(); out.Text == "second" {
			return
		}
	}
	t.Error("the second tick is lost")
}
