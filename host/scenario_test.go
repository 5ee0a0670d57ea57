package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// scripted returns the demo configuration with a scripted model.
func scripted(t testing.TB, script string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := demo(t)
	cfg.Models["echo"] = cfgScripted(path)
	return cfg
}

const slow = `
rules:
  - {when: slow, delay: 20s, text: at last}
  - {when: half, delay: 500ms, text: done}
  - {when: tenth, delay: 100ms, text: done}
  - {when: fail, error: {status: 400, message: no}}
  - {text: "${text}"}
`

func TestSameIDIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	out := outbound(t, nc, 2)
	for range 3 {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "one"})
	}
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ana", Text: "two"})
	replies := out()
	waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, h, "demo") == 0 })
	if replies[0].InReplyTo != "m1" || replies[1].InReplyTo != "m2" {
		t.Errorf("got %v", replies)
	}
	if n := stored(t, h, bus.OutboundStream); n != 2 {
		t.Errorf("got %d stored replies, want 2", n)
	}
}

func TestBadPayloadsAreDeadLetters(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	bad := []string{"{", "", "  ", "\xff\xfe", `{"text":5}`, `{"text":""}`, "\x00", `{"text":"a"} x`, strings.Repeat(`{"a":`, 20000)}
	for _, p := range bad {
		if err := nc.Publish("plugin.inbound.demo", []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "all dead", func() bool { return stored(t, h, bus.DeadStream) == uint64(len(bad)) })
	big := strings.Repeat("x", 1<<20-300)
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "big", Text: big})
	reply := out()[0]
	if len(reply.Media) != 1 || !strings.HasPrefix(reply.Text, "xxx") {
		t.Errorf("a reply of 1 MB came as %d bytes with %d media", len(reply.Text), len(reply.Media))
	}
}

func TestFailureIsVisible(t *testing.T) {
	t.Parallel()
	h, _ := start(t, scripted(t, slow))
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "fail"})
	r := out()[0]
	if r.Kind != "error" || !r.Final || r.Error == nil || r.Error.Code != "validation" || r.Text == "" {
		t.Errorf("got %+v", r)
	}
}

func TestUnaskedAnswerIsAnError(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "approve", Answers: "call_1"})
	if r := out()[0]; r.Kind != "error" || !r.Final || r.Error.Code != "validation" {
		t.Errorf("got %+v", r)
	}
}

func TestCollect(t *testing.T) {
	cfg := scripted(t, slow)
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo", Queue: session.Collect, Debounce: 300 * time.Millisecond}}
	h, _ := start(t, cfg)
	out := outbound(t, h.Bus().NC, 2)
	for i := range 5 {
		publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: fmt.Sprint("a", i), From: "ana", Text: fmt.Sprint(i)})
	}
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "b", From: "bob", Text: "hi"})
	for _, r := range out() {
		switch {
		case r.To == "bob" && r.Text == "hi":
		case r.To == "ana" && r.Text == "0\n1\n2\n3\n4" && r.InReplyTo == "a4" && len(r.Merged) == 5:
		default:
			t.Errorf("got %+v", r)
		}
	}
	waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, h, "demo") == 0 })
}

func TestDelegateFromAProgram(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "agent.route.demo", bus.Route{ID: "d1", Kind: "delegate", From: "prog", CorrelationID: "c1", Text: "task", ReplyTo: inbox})
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Within)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := bus.Route{}
	if err := json.Unmarshal(msg.Data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "result" || got.Text != "task" || got.CorrelationID != "c1" || got.From != "demo" {
		t.Errorf("got %+v", got)
	}
}

func TestTwoAgentsBothAnswer(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	second := cfg.Agents[0]
	second.ID = "second"
	cfg.Agents = append(cfg.Agents, second)
	h, _ := start(t, cfg)
	out := outbound(t, h.Bus().NC, 2)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	got := map[string]bool{}
	for _, r := range out() {
		got[r.Agent] = true
	}
	if !got["demo"] || !got["second"] {
		t.Errorf("got %v", got)
	}
}

func TestStopLeavesWhatIsNotDone(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, slow)
	h, stop := start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "1", From: "ana", Text: "half"})
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "2", From: "ana", Text: "after"})
	waittest.Until(t, "running", func() bool { return ackPending(t, h, "demo") == 2 })
	stop()
	h, _ = start(t, cfg)
	waittest.Until(t, "both answered", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	waittest.Until(t, "all acknowledged", func() bool { return ackPending(t, h, "demo") == 0 })
}

// What a model says with a NUL is a result all the same: as one that cannot be
// read, it would leave its asker to wait.
func TestResultHasNoNUL(t *testing.T) {
	t.Parallel()
	h, _ := start(t, scripted(t, `rules: [{text: "a\0b"}]`))
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "agent.route.demo", bus.Route{ID: "d1", Kind: "delegate", From: "prog", Text: "task", ReplyTo: sub.Subject})
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := bus.DecodeRoute(msg.Data); err != nil || got.Text != "a\uFFFDb" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func stored(t *testing.T, h *host.Host, stream string) uint64 {
	t.Helper()
	s, err := h.Bus().JS.Stream(context.Background(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func ackPending(t *testing.T, h *host.Host, agent string) int {
	t.Helper()
	c, err := h.Bus().JS.Consumer(context.Background(), bus.InboundStream, delivery.LaneName(laneOf(agent, 4)))
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo().NumAckPending
}
