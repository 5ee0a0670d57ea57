//go:build long

package host_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
)

func TestSlowSessionDelaysNoOther(t *testing.T) {
	t.Parallel()
	h, _ := start(t, scripted(t, slow))
	nc := h.Bus().NC
	out := outbound(t, nc, 199)
	began := time.Now()
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "slow", Text: "slow"})
	for i := range 199 {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: fmt.Sprint("user", i), Text: "quick"})
	}
	for _, r := range out() {
		if r.To == "slow" {
			t.Fatalf("the slow one was answered %s after the start", time.Since(began))
		}
	}
}

func TestFloodOfOneAgentDelaysNoOther(t *testing.T) {
	cfg := scripted(t, slow)
	other := ""
	for i := range 100 { // an agent of the same lane
		if other = fmt.Sprint("other", i); laneOf(other, 4) == laneOf("demo", 4) {
			break
		}
	}
	a := cfg.Agents[0]
	a.ID, a.Channels = other, []agents.Binding{{Channel: "other"}}
	cfg.Agents = append(cfg.Agents, a)
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.other")
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	out := outbound(t, nc, n+1)
	for i := range n {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: fmt.Sprint("user", i), Text: "tenth"})
	}
	began := time.Now()
	publish(t, nc, "plugin.inbound.other", bus.Inbound{From: "ana", Text: "hi"})
	next(t, sub)
	t.Logf("the other agent answered after %s", time.Since(began))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the other agent answered after %s", took)
	}
	out()
}

func TestFloodOfOneSession(t *testing.T) {
	cfg := scripted(t, slow)
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	const n = 1500
	out := outbound(t, nc, n)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "first", From: "ana", Text: "half"})
	for i := 1; i < n; i++ {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: fmt.Sprint(i), From: "ana", Text: fmt.Sprint(i)})
	}
	refused, last := 0, -1
	for _, r := range out() {
		if r.Error != nil {
			refused++
			continue
		}
		if r.InReplyTo == "first" {
			continue
		}
		i := 0
		fmt.Sscan(r.InReplyTo, &i)
		if i <= last {
			t.Errorf("%d came after %d", i, last)
		}
		last = i
	}
	if refused == 0 || refused > n-1000 {
		t.Errorf("%d were refused", refused)
	}
	waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, h, "demo") == 0 })
}
