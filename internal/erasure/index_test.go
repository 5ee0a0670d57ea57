package erasure

import (
	"testing"
	"testing/synctest"
	"time"

	"agenthost/session"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &Index{}
		zoe := Message{Agent: "ana", Subject: "plugin.inbound.irc.x", Stream: "AGENT_INBOUND", Seq: 7, From: "zoe"}
		if x.Any() || x.Holds(zoe) {
			t.Fatal("it has an order")
		}
		order := Order{Person: Person{"irc.x", "zoe"}, Keys: []session.Key{"route/ana/1"}, UpTo: map[string]uint64{"AGENT_INBOUND": 6, "AGENT_ROUTES": 3}}
		x.Add(order)
		if x.Holds(zoe) {
			t.Error("it holds what came later")
		}
		order.UpTo = map[string]uint64{"AGENT_INBOUND": 7, "AGENT_ROUTES": 3}
		x.Add(order)
		task := Message{Agent: "bob", Session: "route/ana/1", Subject: "agent.route.bob", Stream: "AGENT_ROUTES", Seq: 3}
		for name, m := range map[string]Message{"hers": zoe, "a task of hers": task, "what comes into her session": {Agent: "ana", Session: "irc.x/dm/zoe", Stream: "AGENT_ROUTES", Seq: 2}} {
			if !x.Holds(m) {
				t.Errorf("%s: not held", name)
			}
		}
		for name, m := range map[string]Message{
			"of another":         {Agent: "ana", Subject: zoe.Subject, Stream: zoe.Stream, Seq: 7, From: "bo"},
			"on another account": {Agent: "ana", Subject: "plugin.inbound.irc.y", Stream: zoe.Stream, Seq: 7, From: "zoe"},
			"a later task":       {Agent: "bob", Session: task.Session, Stream: task.Stream, Seq: 4},
			"of another stream":  {Agent: "ana", Session: "irc.x/dm/zoe", Stream: "AGENT_SCHEDULES", Seq: 1},
		} {
			if x.Holds(m) {
				t.Errorf("%s: held", name)
			}
		}
		x.Add(Order{Person: Person{"", "bo"}, Agent: "bob", UpTo: map[string]uint64{zoe.Stream: 7}})
		if m := (Message{Agent: "ana", Subject: zoe.Subject, Stream: zoe.Stream, Seq: 7, From: "bo"}); x.Holds(m) {
			t.Error("an order for one agent holds what another has")
		}
		time.Sleep(within + time.Second)
		if x.Holds(zoe) {
			t.Error("it holds for ever")
		}
	})
}
