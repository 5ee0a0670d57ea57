//go:build long

package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

const waking = `
rules:
  - {after_tool: remind, text: I will.}
  - {when: in a moment, tool_calls: [{name: remind, args: {when: in 1s, text: the milk}}]}
  - {when: anything, text: NOTHING}
  - {text: "${text}"}
`

func TestHostWakesItsAgents(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, waking)
	a := &cfg.Agents[0]
	a.Tools = []string{"remind"}
	a.Heartbeat = heartbeat.Config{Enabled: true, Interval: time.Second, Prompt: "anything?", Watch: []string{"agent.dead.>"}}
	a.Schedules = []heartbeat.Schedule{{
		Name: "soon", Spec: heartbeat.Spec{Every: time.Second}, Prompt: "it is time", To: heartbeat.Address{Channel: "bell", To: "bea"},
	}}
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	bell, err := nc.SubscribeSync("plugin.outbound.bell")
	if err != nil {
		t.Fatal(err)
	}
	chat, err := nc.SubscribeSync("plugin.outbound.demo")
	if err != nil {
		t.Fatal(err)
	}
	if out := next(t, bell); out.Kind != "notice" || out.Text != "it is time" || out.To != "bea" || out.Session != "schedule/soon" {
		t.Errorf("schedule: %+v", out)
	}
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "remind me in a moment"})
	if out := next(t, chat); out.Text != "I will." {
		t.Errorf("got %+v", out)
	}
	if out := next(t, chat); out.Kind != "notice" || !strings.Contains(out.Text, "the milk") || out.To != "ana" || out.Session != "demo/dm/ana" {
		t.Errorf("reminder: %+v", out)
	}
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "/remind in 1s the eggs"})
	if out := next(t, chat); !strings.HasPrefix(out.Text, "Noted for ") {
		t.Errorf("got %+v", out)
	}
	if out := next(t, chat); out.Kind != "notice" || !strings.Contains(out.Text, "the eggs") {
		t.Errorf("reminder: %+v", out)
	}
	waittest.Until(t, "three beats and a call", func() bool {
		msg, err := nc.RequestWithContext(t.Context(), client.StatusSubject, nil)
		if err != nil {
			return false
		}
		s, err := client.ReadStatus(msg.Data)
		return err == nil && s.Agents[0].Heartbeat != nil && s.Agents[0].Heartbeat.Beats >= 3 && s.Agents[0].Heartbeat.Calls == 1
	})
	beat := heartbeat.Beat{}
	stored, err := h.Bus().JS.Stream(t.Context(), bus.EventsStream)
	if err != nil {
		t.Fatal(err)
	}
	last, err := stored.GetLastMsgForSubject(t.Context(), "agent.events.demo.heartbeat")
	if err != nil || json.Unmarshal(last.Data, &beat) != nil || beat.Agent != "demo" || beat.Host == "" || beat.Interval != 1 {
		t.Errorf("beat %+v, %v", beat, err)
	}
}

// Two hosts of a fleet, of which one goes: a tick is heard of once.
func TestOnHeartbeatOnceInTheFleet(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	var mu sync.Mutex
	heard := map[time.Time]int{}
	run := func(name string) (stop func()) {
		cfg := config.Demo()
		cfg.NATS.URL, cfg.HTTP.Listen, cfg.NATS.Embedded.Store = url, "", t.TempDir()
		cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo"}}
		cfg.Agents[0].Heartbeat = heartbeat.Config{Enabled: true, Interval: time.Second}
		h := host.New(host.Options{
			Config: cfg, Name: name, Log: zerolog.Nop(), Grace: time.Second,
			OnHeartbeat: func(_ context.Context, _ string, due time.Time) {
				mu.Lock()
				defer mu.Unlock()
				heard[due.UTC()]++
			},
		})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		<-h.Ready()
		var once sync.Once
		stop = func() { once.Do(func() { cancel(); <-done }) }
		t.Cleanup(stop)
		return stop
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(heard)
	}
	stopFirst := run("a")
	run("b")
	waittest.Until(t, "ticks", func() bool { return count() >= 2 })
	stopFirst()
	waittest.Until(t, "ticks at the other host", func() bool { return count() >= 4 })
	mu.Lock()
	defer mu.Unlock()
	for due, n := range heard {
		if n != 1 {
			t.Errorf("tick %v was heard %d times", due, n)
		}
	}
}
