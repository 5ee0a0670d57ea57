//go:build long

package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/tools"
)

func TestDelegation(t *testing.T) {
	t.Parallel()
	t.Run("there and back", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), bot("ops", script(`rules: [{text: "done: ${text}"}]`)))
		w.say("ana", bus.Inbound{Text: "hand over"})
		w.expect("reply", "It says: done: please hand over")
		w.settled()
	})
	t.Run("without reading the log again", func(t *testing.T) {
		w := newWorld(t, bot("ana", script(paying), has(handing("ops")), asks("ops")), bot("ops", script(`rules: [{delay: 200ms, text: "done: ${text}"}]`)))
		for range 3 {
			w.say("ana", bus.Inbound{Text: "hand over"})
			w.expect("reply", "It says: done: please hand over")
		}
		w.settled()
		reads := w.subscribe("$JS.API.DIRECT.GET.AGENT_SESSIONS") // of more than the newest of a log
		w.say("ana", bus.Inbound{Text: "hand over"})
		w.expect("reply", "It says: done: please hand over")
		w.settled()
		if n := len(reads); n > 0 {
			t.Errorf("the logs were read %d times", n)
		}
	})
	t.Run("with a context", func(t *testing.T) {
		tool := handing("ops")
		tool.Run = func(context.Context, tools.Call) (tools.Result, error) {
			return tools.Result{Wait: &tools.Wait{To: "ops", Prompt: "restart it", Context: json.RawMessage(`{"host": "a"}`)}}, nil
		}
		w := newWorld(t, bot("ana", script(paying), has(tool), asks("ops")), bot("ops", script(`rules: [{text: "done: ${text}"}]`)))
		tasks := w.subscribe("agent.route.ops")
		w.say("ana", bus.Inbound{Text: "hand over"})
		task, err := bus.DecodeRoute(w.next(tasks).Data)
		if err != nil || task.Text != "restart it" || string(task.Context) != `{"host":"a"}` {
			t.Errorf("the task is %+v, %v", task, err)
		}
		w.expect("reply", "It says: done: restart it\n\nContext:\n{\"host\":\"a\"}")
		w.settled()
	})
	t.Run("nested", func(t *testing.T) {
		w := newWorld(t, bot("a", script(paying), has(handing("b")), asks("b")), bot("b", script(paying), has(handing("c")), asks("c")),
			bot("c", script(`rules: [{text: "c did it"}]`)))
		w.say("a", bus.Inbound{Text: "hand over"})
		w.expect("reply", "It says: It says: c did it")
	})
	refused := map[string]struct {
		actors []actor
		want   string
	}{
		"self":        {[]actor{bot("a", script(paying), has(handing("a")), asks("*"))}, "itself"},
		"unknown":     {[]actor{bot("a", script(paying), has(handing("x")), asks("*"))}, "no agent"},
		"not allowed": {[]actor{bot("a", script(paying), has(handing("b"))), bot("b", script(paying))}, "not among"},
		"not accepted": {[]actor{bot("a", script(paying), has(handing("b")), asks("b")), bot("b", script(paying), func(a *actor) {
			a.cfg.Accepts = []string{"kate"}
		})}, "does not take work"},
		"circle": {[]actor{bot("a", script(paying), has(handing("b")), asks("b")), bot("b", script(paying), has(handing("a")), asks("a"))}, "delegation cycle: a → b → a"},
	}
	for name, tt := range refused {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.actors...)
			w.say("a", bus.Inbound{Text: "hand over"})
			if out := w.hear(); out.Kind != "reply" || !strings.Contains(out.Text, tt.want) {
				t.Errorf("heard %q, want %q in it", out.Text, tt.want)
			}
		})
	}
	t.Run("stopped on both sides", func(t *testing.T) {
		w := newWorld(t, bot("a", script(paying), has(handing("b")), asks("b")), bot("b", script(`rules: [{delay: 60s, text: late}]`)))
		w.say("a", bus.Inbound{Text: "hand over"})
		w.eventually("handed over", func() bool { return w.fleet.Status()[1].Running == 1 })
		w.say("a", bus.Inbound{Text: "/stop"})
		if out := w.hear(); out.Error == nil || out.Error.Code != "cancelled" {
			t.Errorf("heard %+v", out)
		}
		w.eventually("stopped", func() bool { return w.fleet.Status()[1].Running == 0 })
		w.settled()
	})
	t.Run("callee dead", func(t *testing.T) {
		a := bot("a", script(paying), has(handing("b")), asks("b"))
		a.cfg.Limits.RunTimeout = 1500 * time.Millisecond
		w := newWorld(t, a)
		w.parts.Peers.Set([]engine.Peer{{ID: "a"}, {ID: "b"}}) // whom no host serves just now
		w.say("a", bus.Inbound{Text: "hand over"})
		w.expect("reply", "It says: no result came in time")
		w.settled()
	})
	t.Run("result that cannot be read", func(t *testing.T) {
		w := newWorld(t, bot("a", script(paying), has(handing("b")), asks("b")))
		w.parts.Peers.Set([]engine.Peer{{ID: "a"}, {ID: "b"}}) // another host's
		tasks := w.subscribe("agent.route.b")
		w.say("a", bus.Inbound{Text: "hand over"})
		task, err := bus.DecodeRoute(w.next(tasks).Data)
		if err != nil {
			t.Fatal(err)
		}
		w.send(task.ReplyTo, map[string]any{
			"id": "r1", "kind": "result", "from": "b", "correlation_id": task.CorrelationID, "text": map[string]int{"done": 1},
		})
		if out := w.hear(); out.Kind != "reply" || !strings.Contains(out.Text, "the result cannot be read: ") {
			t.Errorf("heard %+v", out)
		}
		w.settled()
	})
}
