package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/hooks"
	"agenthost/internal/waittest"
	"agenthost/session"
)

// A conversation that loses the lane of its reminders to another host, which has answered
// one, keeps the messages of people: the lane that brought those is still its own, and they
// would come again only behind newer ones.
func TestMessagesStayWhenAReminderIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, actor{cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "ana"}}}, script: `rules: [{text: "${text}"}]`})
	at := func(person string) *bus.Origin {
		return &bus.Origin{Agent: "ana", Session: string(session.DM("ana", "", person)), Subject: "plugin.outbound.ana", To: person}
	}
	remind := func(person string) {
		w.publish("agent.due.ana", bus.Route{ID: "remind-" + person, Kind: bus.RouteSchedule, From: "remind", Text: "call mum", Due: time.Now(), Origin: at(person)})
	}
	remind("bea")
	w.expect("notice", "call mum")
	w.settled()
	other, commits := w.otherHost(), w.commitsOf("bea")

	asked, release := make(chan struct{}, 1), make(chan struct{})
	remove := w.hook(hooks.BeforeModelCall, hooks.Options{Timeout: time.Minute}, func(_ context.Context, _ hooks.Call) (hooks.Outcome, error) {
		asked <- struct{}{}
		<-release
		return hooks.Outcome{}, nil
	})
	remind("ana")
	<-asked
	w.say("ana", bus.Inbound{ID: "m1", Text: "how are you"})
	waittest.Until(t, "the message waits", func() bool { held, _ := w.held(); return held == 1 })
	other.write(commits)
	reminders, err := w.bus.JS.Stream(t.Context(), bus.SchedulesStream)
	if err == nil {
		err = reminders.UnpinConsumer(t.Context(), delivery.LaneName(engine.LaneOf("ana", 4)), "owner")
	}
	if err != nil {
		t.Fatal(err)
	}
	remove()
	close(release)
	for out := w.hear(); !strings.Contains(out.Text, "how are you"); out = w.hear() {
		t.Logf("heard %s %q", out.Kind, out.Text)
	}
	waittest.Until(t, "all is acknowledged", func() bool { held, _ := w.held(); return held == 0 })
	lane, err := w.bus.JS.Consumer(t.Context(), bus.InboundStream, delivery.LaneName(engine.LaneOf("ana", 4)))
	if err != nil {
		t.Fatal(err)
	}
	if n := lane.CachedInfo().Delivered.Consumer; n != 1 {
		t.Errorf("the message was delivered %d times, want once", n)
	}
}
