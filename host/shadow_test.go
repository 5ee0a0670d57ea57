package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/internal/eval"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// shadowed is the demo agent with every tool, and its shadow bea.
func shadowed(t *testing.T) *config.Config {
	t.Helper()
	cfg := scripted(t, `rules:
  - {after_tool: "*", text: "demo: ${result}"}
  - {is: write, tool_calls: [{name: write_file, args: {path: note.txt, text: written}}]}
  - {is: ask, tool_calls: [{name: ask_human, args: {question: "Which?"}}]}
  - {is: delegate, tool_calls: [{name: delegate, args: {to: helper, task: help}}]}
  - {is: remind, tool_calls: [{name: remind, args: {when: in 20m, text: call mum}}]}
  - {is: read, tool_calls: [{name: read_file, args: {path: none.txt}}]}
  - {is: fail, error: {status: 400, message: no}}
  - {text: "${text}"}
`)
	a := cfg.Agents[0]
	a.Tools, a.Delegates, a.Permissions = []string{"*"}, []string{"helper"}, map[string]string{"read_file": "allow"}
	bea := a
	bea.ID, bea.ShadowOf, bea.Channels = "bea", a.ID, nil
	helper := a
	helper.ID, helper.Channels = "helper", nil
	cfg.Agents = []config.Agent{a, bea, helper}
	return cfg
}

func TestShadowSaysNothing(t *testing.T) {
	t.Parallel()
	cfg := shadowed(t)
	h, stop := start(t, cfg)
	nc := h.Bus().NC
	inputs := []string{"hello", "write", "ask", "delegate", "remind", "read", "fail", "/remind in 20m call mum"}
	for _, text := range inputs { // each of another person: demo waits in most of them
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: text, From: text, Text: text})
	}
	waittest.Until(t, "demo asks twice and delegates", func() bool {
		waiting, err := clientOf(h).Waiting(context.Background())
		return err == nil && len(waiting) == 2
	})
	var pairs []eval.Pair
	var err error
	waittest.Until(t, "the shadow is done", func() bool {
		pairs, err = eval.ShadowDiff(context.Background(), h.Bus().JS, "demo", "bea", "")
		return err == nil && len(pairs) == len(inputs) && !slices.ContainsFunc(pairs, func(p eval.Pair) bool {
			return p.Shadow == nil || p.Shadow.Outcome == ""
		})
	})
	want := map[string]string{
		"hello": "hello", "write": "demo: not run: shadow", "ask": "demo: not run: shadow", "delegate": "demo: not run: shadow", "remind": "demo: not run: shadow",
		"/remind in 20m call mum": "not run: shadow",
	}
	for _, p := range pairs {
		if text, ok := want[p.Input]; ok && p.Shadow.Answer != text {
			t.Errorf("%s: the shadow said %q, want %q", p.Input, p.Shadow.Answer, text)
		}
		switch p.Input {
		case "hello":
			if !p.Same || p.Shadow.Calls != 1 {
				t.Errorf("got %+v", p)
			}
		case "read": // what only reads is run
			if len(p.Shadow.Tools) != 1 || strings.Contains(p.Shadow.Tools[0].Result, "shadow") || !p.Same {
				t.Errorf("got %+v", p.Shadow)
			}
		case "fail":
			if p.Shadow.Outcome != "failed" {
				t.Errorf("got %+v", p.Shadow)
			}
		}
	}
	// Another life of the host finds nothing of the shadow to publish again.
	stop()
	h, _ = start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "last", From: "hello", Text: "last"})
	waittest.Until(t, "the last is answered by both", func() bool {
		pairs, err := eval.ShadowDiff(context.Background(), h.Bus().JS, "demo", "bea", "demo/dm/hello")
		return err == nil && len(pairs) == 2 && pairs[1].Shadow != nil && pairs[1].Shadow.Outcome != ""
	})
	for _, out := range kept[bus.Outbound](t, h.Bus().NC, bus.OutboundStream, int(stored(t, h, bus.OutboundStream))) {
		if out.Agent != "demo" && out.Agent != "helper" {
			t.Errorf("%s said %q to a person", out.Agent, out.Text)
		}
	}
	for _, r := range kept[bus.Route](t, h.Bus().NC, bus.RoutesStream, int(stored(t, h, bus.RoutesStream))) {
		if r.From == "bea" {
			t.Errorf("the shadow told an agent %q", r.Text)
		}
	}
}

// Who gives work to a shadow is told that it takes none.
func TestShadowTakesNoWork(t *testing.T) {
	t.Parallel()
	h, _ := start(t, shadowed(t))
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "agent.route.bea", bus.Route{Kind: "delegate", From: "prog", CorrelationID: "c1", Text: "task", ReplyTo: sub.Subject})
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := bus.Route{}
	if err := errors.Join(json.Unmarshal(msg.Data, &r)); err != nil || r.Error == nil || !strings.Contains(r.Error.Message, "shadow of demo") {
		t.Errorf("got %s", msg.Data)
	}
}
