package host_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/telemetry/telemetrytest"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// tracing is a fleet of ana, who asks bob, that sends its traces to a collector.
func tracing(t *testing.T) (*config.Config, *telemetrytest.Collector) {
	t.Helper()
	c := telemetrytest.NewCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	cfg := scripted(t, `rules:
  - {after_tool: "*", text: "bob says: ${result}"}
  - {is: ask bob, tool_calls: [{name: delegate, args: {to: bob, task: help}}]}
  - {is: fail, error: {status: 400, message: no}}
  - {text: "${text}"}
`)
	ana := cfg.Agents[0]
	ana.ID, ana.Tools, ana.Delegates = "ana", []string{"*"}, []string{"bob"}
	bob := ana
	bob.ID, bob.Channels, bob.Delegates = "bob", nil, nil
	cfg.Agents = []config.Agent{ana, bob}
	return cfg, c
}

const delegating = `process plugin.inbound.demo
  invoke_agent ana
    chat echo
    execute_tool delegate
      process agent.route.bob
        invoke_agent bob
          chat echo
          publish agent.route.ana
    chat echo
    publish plugin.outbound.demo
`

// What agents do for a message is one trace, from the message to the reply.
func TestTraceOfAMessage(t *testing.T) {
	cfg, c := tracing(t)
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	replied := outbound(t, nc, 2)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traced := nats.NewMsg("plugin.inbound.demo")
	traced.Data, _ = json.Marshal(bus.Inbound{ID: "m1", From: "zoe", Text: "ask bob"})
	traced.Header["traceparent"], traced.Header["tracestate"] = []string{parent}, []string{"shop=1"}
	if err := nc.PublishMsg(traced); err != nil {
		t.Fatal(err)
	}
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ben", Text: "ask bob"})
	replied()
	bustest.Eventually(t, "two traces are there", func() bool {
		spans := c.Spans()
		return len(spans) == 2 && !slices.ContainsFunc(slices.Collect(maps.Values(spans)), func(list []*tracev1.Span) bool { return len(list) != 10 })
	})
	for id, spans := range c.Spans() {
		if diff := cmp.Diff(delegating, telemetrytest.Tree(spans)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", id, diff)
		}
		root := spanNamed(spans, "process plugin.inbound.demo")
		switch given := id == parent[3:35]; {
		case given && (hex.EncodeToString(root.ParentSpanId) != parent[36:52] || root.TraceState != "shop=1"):
			t.Errorf("the message with a trace: got %v", root)
		case !given && len(root.ParentSpanId) > 0:
			t.Errorf("the message without one: got %v", root)
		}
	}
	spans := c.Spans()[parent[3:35]]
	run := telemetrytest.Attributes(spanNamed(spans, "invoke_agent ana"))
	for key, want := range map[string]string{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ana", "agenthost.run.outcome": "settled", "agenthost.run.trigger": "message",
	} {
		if run[key] != want {
			t.Errorf("run: %s is %q, want %q", key, run[key], want)
		}
	}
	if tool := telemetrytest.Attributes(spanNamed(spans, "execute_tool delegate")); tool["agenthost.delegate.agent"] != "bob" || tool["gen_ai.tool.name"] != "delegate" {
		t.Errorf("tool: got %v", tool)
	}
	if out := telemetrytest.Attributes(spanNamed(spans, "publish plugin.outbound.demo")); out["messaging.system"] != "nats" || out["messaging.message.id"] == "" {
		t.Errorf("reply: got %v", out)
	}
	if text := telemetrytest.Tree(spans) + strings.Join(slices.Collect(maps.Values(run)), " "); strings.Contains(text, "zoe") {
		t.Errorf("the person is in it: %s", text)
	}
	if got := c.Resource(); got["service.name"] != "agenthost" || got["service.version"] == "" {
		t.Errorf("resource: got %v", got)
	}
}

func spanNamed(spans []*tracev1.Span, name string) *tracev1.Span {
	i := slices.IndexFunc(spans, func(s *tracev1.Span) bool { return s.Name == name })
	if i < 0 {
		return &tracev1.Span{}
	}
	return spans[i]
}

// A message that says that its trace is not sampled has none, nor what was done for it.
func TestTraceThatIsNotSampled(t *testing.T) {
	cfg, c := tracing(t)
	h, stop := start(t, cfg)
	replied := outbound(t, h.Bus().NC, 2)
	traced := nats.NewMsg("plugin.inbound.demo")
	traced.Data, _ = json.Marshal(bus.Inbound{ID: "m1", From: "zoe", Text: "ask bob"})
	traced.Header["traceparent"] = []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	if err := h.Bus().NC.PublishMsg(traced); err != nil {
		t.Fatal(err)
	}
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ben", Text: "fail"})
	replied()
	stop() // and what waits is sent
	spans := c.Spans()
	if len(spans) != 1 || len(spans["0af7651916cd43dd8448eb211c80319c"]) > 0 {
		t.Fatalf("got %v", spans)
	}
	for _, list := range spans {
		run := spanNamed(list, "invoke_agent ana")
		if run.Status.GetCode() != tracev1.Status_STATUS_CODE_ERROR || telemetrytest.Attributes(run)["error.type"] != "validation" {
			t.Errorf("a run that failed: got %v", run)
		}
	}
}

// A message that joins a run is linked to it: all that goes out stays in the trace that the run
// began in, also once the run has waited for another agent.
func TestTraceOfAJoiningMessage(t *testing.T) {
	cfg, c := tracing(t)
	cfg.Models = scripted(t, `rules:
  - {is: help, text: ok}
  - {is: one, tool_calls: [{name: look, args: {}}]}
  - {is: two, tool_calls: [{name: delegate, args: {to: bob, task: help}}]}
  - {after_tool: "*", text: done}
`).Models
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "demo", Queue: session.Steer}}
	looks, joined := make(chan struct{}), make(chan struct{})
	h, stop := startOptions(t, host.Options{Config: cfg, Log: hosttest.Log(t), Tools: []tools.Tool{{
		Name: "look", ReadOnly: true, Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			close(looks)
			select {
			case <-joined:
			case <-ctx.Done():
			}
			return tools.Result{}, ctx.Err()
		},
	}}})
	nc := h.Bus().NC
	if _, err := nc.Subscribe("agent.session.ana.*", func(m *nats.Msg) {
		if bytes.Contains(m.Data, []byte(`"input.added"`)) {
			close(joined)
		}
	}); err != nil {
		t.Fatal(err)
	}
	replies := make(chan *nats.Msg, 10)
	if _, err := nc.ChanSubscribe("plugin.outbound.demo", replies); err != nil {
		t.Fatal(err)
	}
	const first, second = "0af7651916cd43dd8448eb211c80319c", "1bf7651916cd43dd8448eb211c80319c"
	say := func(text, trace string) {
		m := nats.NewMsg("plugin.inbound.demo")
		m.Data, _ = json.Marshal(bus.Inbound{ID: text, From: "zoe", Text: text})
		m.Header["traceparent"] = []string{"00-" + trace + "-b7ad6b7169203331-01"}
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	say("one", first)
	<-looks
	say("two", second)
	select {
	case m := <-replies:
		if got := m.Header.Get("traceparent"); !strings.Contains(got, first) {
			t.Errorf("the reply is in the trace %s: %s", got, m.Data)
		}
	case <-bustest.Context(t).Done():
		t.Fatal("there is no reply")
	}
	stop()
	spans := c.Spans()
	const want = `process plugin.inbound.demo
  invoke_agent ana
    chat echo
    execute_tool look
    chat echo
    execute_tool delegate
      process agent.route.bob
        invoke_agent bob
          chat echo
          publish agent.route.ana
    chat echo
    publish plugin.outbound.demo
`
	if diff := cmp.Diff(want, telemetrytest.Tree(spans[first])); diff != "" || len(spans) != 1 {
		t.Errorf("%d traces; -want +got:\n%s", len(spans), diff)
	}
	if links := spanNamed(spans[first], "invoke_agent ana").Links; len(links) != 1 || hex.EncodeToString(links[0].TraceId) != second {
		t.Errorf("links: got %v", links)
	}
}

// What models say is in no trace: neither are names of tools that there are not.
func TestTraceOfAnUnknownTool(t *testing.T) {
	cfg, c := tracing(t)
	cfg.Models = scripted(t, `rules:
  - {is: go, tool_calls: [{name: the_secret, args: {}}, {name: now, args: {zone: 7}}]}
  - {after_tool: "*", text: done}
`).Models
	h, stop := start(t, cfg)
	replied := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "zoe", Text: "go"})
	replied()
	stop()
	const want = `process plugin.inbound.demo
  invoke_agent ana
    chat echo
    execute_tool (unknown)
    execute_tool now
    chat echo
    publish plugin.outbound.demo
`
	for _, list := range c.Spans() {
		if diff := cmp.Diff(want, telemetrytest.Tree(list)); diff != "" || strings.Contains(fmt.Sprint(list), "secret") {
			t.Errorf("-want +got:\n%s", diff)
		}
		if tool := telemetrytest.Attributes(spanNamed(list, "execute_tool now")); tool["gen_ai.tool.name"] != "now" || tool["error.type"] != "correction" {
			t.Errorf("a tool that cannot be run as asked: got %v", tool)
		}
		return
	}
	t.Error("there is no trace")
}

// A traceparent that is malformed counts as none: what agents do for the message is one trace.
func TestTraceOfAMalformedParent(t *testing.T) {
	for _, parent := range []string{
		"garbage", "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
	} {
		t.Run(parent, func(t *testing.T) {
			cfg, c := tracing(t)
			h, stop := start(t, cfg)
			replied := outbound(t, h.Bus().NC, 1)
			m := nats.NewMsg("plugin.inbound.demo")
			m.Data, _ = json.Marshal(bus.Inbound{ID: "m1", From: "zoe", Text: "ask bob"})
			m.Header["traceparent"], m.Header["tracestate"] = []string{parent}, []string{"shop=1"}
			if err := h.Bus().NC.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
			replied()
			stop()
			spans := c.Spans()
			if len(spans) != 1 {
				t.Errorf("got %d traces, want 1", len(spans))
			}
			for id, list := range spans {
				if diff := cmp.Diff(delegating, telemetrytest.Tree(list)); diff != "" {
					t.Errorf("%s: -want +got:\n%s", id, diff)
				}
				if root := spanNamed(list, "process plugin.inbound.demo"); len(root.ParentSpanId) > 0 || root.TraceState != "" {
					t.Errorf("it is in the sender's trace: %v", root)
				}
			}
		})
	}
}

// Agents that take the same message are in one trace, with spans of their own.
func TestTraceOfTwoAgents(t *testing.T) {
	cfg, c := tracing(t)
	cfg.Agents[1].Channels = cfg.Agents[0].Channels
	h, stop := start(t, cfg)
	replied := outbound(t, h.Bus().NC, 2)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "zoe", Text: "hello"})
	replied()
	stop()
	spans := c.Spans()
	if len(spans) != 1 {
		t.Errorf("got %d traces, want 1", len(spans))
	}
	for _, list := range spans {
		seen := map[string]string{}
		for _, s := range list {
			id := hex.EncodeToString(s.SpanId)
			if other, ok := seen[id]; ok {
				t.Errorf("two spans have the id %s: %s and %s", id, other, s.Name)
			}
			seen[id] = s.Name
		}
		if len(list) != 8 {
			t.Errorf("got %d spans, want 8:\n%s", len(list), telemetrytest.Tree(list))
		}
	}
}

// What one sender writes into headers costs no other message its trace.
func TestTraceBesideOddHeaders(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, odd := range map[string]nats.Header{
		"state": {"traceparent": {parent}, "tracestate": {"a=\xff"}}, "id": {"traceparent": {parent}, nats.MsgIdHdr: {"m\xff"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, c := tracing(t)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "60000") // both in one batch
			h, stop := start(t, cfg)
			nc := h.Bus().NC
			replied := outbound(t, nc, 2)
			m := nats.NewMsg("plugin.inbound.demo")
			m.Data, _ = json.Marshal(bus.Inbound{From: "mallory", Text: "hello"})
			m.Header = odd
			if err := nc.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
			publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "zoe", Text: "hello"})
			replied()
			stop()
			spans := c.Spans()
			if len(spans) != 2 {
				t.Errorf("got %d traces, want 2", len(spans))
			}
			if root := spanNamed(spans[parent[3:35]], "process plugin.inbound.demo"); root.SpanId == nil || root.TraceState != "" {
				t.Errorf("that of the odd headers: got %v", root)
			}
		})
	}
}

// Variables for another program keep no host from serving.
func TestTracesOfWrongVariables(t *testing.T) {
	cfg, c := tracing(t)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	h, stop := start(t, cfg)
	replied := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "zoe", Text: "hello"})
	if got := replied(); got[0].Text != "hello" {
		t.Errorf("got %+v", got)
	}
	stop()
	if got := c.Headers(); len(got) > 0 {
		t.Errorf("traces were sent: %v", got)
	}
}
