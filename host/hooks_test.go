package host_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/hooks"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// respond answers a hook's requests and keeps what was asked.
func respond(t *testing.T, nc *nats.Conn, subject string, answer func(hooks.Call) any) <-chan hooks.Call {
	t.Helper()
	calls := make(chan hooks.Call, 100)
	sub, err := nc.Subscribe(subject, func(m *nats.Msg) {
		call := hooks.Call{}
		if err := json.Unmarshal(m.Data, &call); err != nil {
			t.Error(err)
		}
		calls <- call
		data, err := json.Marshal(answer(call))
		if err != nil {
			t.Error(err)
		}
		if err := m.Respond(data); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return calls
}

func carryOn(hooks.Call) any { return map[string]any{"action": "continue"} }

func TestHooksFireInOrder(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	points := []string{"on_session_start", "before_message", "before_model_call", "after_model_call", "after_message"}
	for _, on := range points {
		cfg.Hooks = append(cfg.Hooks, hooks.Config{On: on, Subject: "acme.all"})
	}
	h, _ := start(t, cfg)
	calls := respond(t, h.Bus().NC, "acme.all", carryOn)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	for _, want := range points {
		select {
		case call := <-calls:
			if call.Hook != want || call.Agent != "demo" || call.Session != "demo/dm/ana" {
				t.Errorf("got %+v, want %s", call, want)
			}
		case <-time.After(waittest.Within):
			t.Fatalf("%s was not fired", want)
		}
	}
}

func TestHooksChangeWhatIsSaid(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Hooks = []hooks.Config{
		{On: "before_message", Subject: "acme.in"},
		{On: "after_model_call", Subject: "acme.out"},
	}
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	respond(t, nc, "acme.in", func(hooks.Call) any {
		return map[string]any{"action": "override", "args": map[string]any{"message": bus.Inbound{From: "ana", Text: "changed"}}}
	})
	seen := respond(t, nc, "acme.out", func(c hooks.Call) any {
		m := llm.Message{}
		if err := json.Unmarshal(c.Args["message"], &m); err != nil {
			t.Error(err)
		}
		m.Parts[0].Text += " twice"
		return map[string]any{"action": "override", "args": map[string]any{"message": m}}
	})
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	if r := out()[0]; r.Text != "changed twice" {
		t.Errorf("got %q", r.Text)
	}
	<-seen
}

// A hook may have any of the configured models asked, in place of the agent's.
func TestHookChoosesAModel(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, `rules: [{text: "said another"}]`)
	cfg.Models["other"], cfg.Models["echo"] = cfg.Models["echo"], demo(t).Models["echo"]
	cfg.Hooks = []hooks.Config{{On: "before_model_call", Subject: "acme.route"}}
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	var model atomic.Value
	respond(t, nc, "acme.route", func(hooks.Call) any {
		return map[string]any{"action": "override", "args": map[string]any{"model": model.Load()}}
	})
	for _, step := range []struct{ model, want string }{{"other", "said another"}, {"unknown", "hi"}} {
		model.Store(step.model)
		out := outbound(t, nc, 1)
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
		if r := out()[0]; r.Text != step.want {
			t.Errorf("%s: got %q, want %q", step.model, r.Text, step.want)
		}
	}
}

func TestHookAbortsVisibly(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"before_message", "before_model_call"} {
		t.Run(on, func(t *testing.T) {
			cfg := demo(t)
			cfg.Hooks = []hooks.Config{{On: on, Subject: "acme.moderate"}}
			h, _ := start(t, cfg)
			respond(t, h.Bus().NC, "acme.moderate", func(hooks.Call) any {
				return map[string]any{"action": "abort", "reason": "Not in this house."}
			})
			out := outbound(t, h.Bus().NC, 1)
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
			if r := out()[0]; !r.Final || r.Kind != "error" || r.Text != "Not in this house." || r.Error.Code != "cancelled" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestHookThatIsAwayFailsAsConfigured(t *testing.T) {
	t.Parallel()
	for fail, kind := range map[string]string{"open": "reply", "closed": "error"} {
		t.Run(fail, func(t *testing.T) {
			cfg := demo(t)
			cfg.Hooks = []hooks.Config{{On: "before_message", Subject: "acme.nobody", Fail: fail}}
			h, _ := start(t, cfg)
			out := outbound(t, h.Bus().NC, 1)
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
			if r := out()[0]; r.Kind != kind || !r.Final {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestErrorHook(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, slow)
	cfg.Hooks = []hooks.Config{{On: "on_error", Subject: "acme.error"}}
	h, _ := start(t, cfg)
	calls := respond(t, h.Bus().NC, "acme.error", carryOn)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "fail"})
	if call := <-calls; string(call.Args["code"]) != `"validation"` {
		t.Errorf("got %s", call.Args["code"])
	}
}

// Each hook of a message gets its trace, also the one behind its reply.
func TestTraceContextReachesHooks(t *testing.T) {
	t.Parallel()
	const parent, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "shop=1"
	points := []string{"before_message", "before_model_call", "after_model_call", "after_message"}
	cfg := demo(t)
	for _, point := range points {
		cfg.Hooks = append(cfg.Hooks, hooks.Config{On: point, Subject: "acme." + point})
	}
	h, _ := start(t, cfg)
	calls := make(chan *nats.Msg, 10)
	sub, err := h.Bus().NC.Subscribe("acme.*", func(m *nats.Msg) {
		calls <- m
		_ = m.Respond([]byte("{}"))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	msg := nats.NewMsg("plugin.inbound.demo")
	msg.Data = []byte("hi")
	msg.Header["traceparent"], msg.Header["tracestate"] = []string{parent}, []string{state}
	if err := h.Bus().NC.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	for _, point := range points {
		select {
		case call := <-calls:
			if call.Subject != "acme."+point || call.Header.Get("traceparent") != parent || call.Header.Get("tracestate") != state {
				t.Errorf("got %s with %v, want %s with the trace", call.Subject, call.Header, point)
			}
		case <-bustest.Context(t).Done():
			t.Fatalf("no hook %s", point)
		}
	}
}

func TestTraceContextReachesTheReply(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.demo")
	if err != nil {
		t.Fatal(err)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	msg := nats.NewMsg("plugin.inbound.demo")
	msg.Data = []byte("hi")
	msg.Header["traceparent"] = []string{parent}
	if err := nc.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Within)
	defer cancel()
	reply, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.Header.Get("traceparent"); got != parent {
		t.Errorf("got traceparent %q", got)
	}
	if reply.Header.Get("Agent-Session-Key") != "demo/dm/anonymous" || reply.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got headers %v", reply.Header)
	}
}

func TestBadAgentIsQuarantined(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Models["none"] = llm.Config{Provider: "scripted", Script: filepath.Join(t.TempDir(), "missing.yaml")}
	bad := cfg.Agents[0]
	bad.ID, bad.Model, bad.Channels = "bad", []string{"none"}, nil
	cfg.Agents = append(cfg.Agents, bad)
	h, _ := start(t, cfg)
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	out()
	status := hostStatus(t, h)
	if status.State != "degraded" || status.Agents[1].State != "quarantined" || status.Agents[1].Reason == "" {
		t.Errorf("got %+v", status)
	}
	if code := get(t, "http://"+h.HTTP()+"/readyz"); code != http.StatusOK {
		t.Errorf("readyz answered %d", code)
	}
}

func hostStatus(t *testing.T, h *host.Host) client.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Within)
	defer cancel()
	msg, err := h.Bus().NC.RequestWithContext(ctx, client.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, err := client.ReadStatus(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func get(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Every point of the nine is fired by a host, with the arguments that
// docs/hooks.md names.
func TestEveryHookFires(t *testing.T) {
	t.Parallel()
	args := map[string][]string{
		"on_session_start": {"key", "reason"}, "before_message": {"message"}, "before_model_call": {"messages", "model", "tools"},
		"after_model_call": {"message", "model", "usage"}, "before_tool_call": {"args", "call", "name"},
		"after_tool_call": {"args", "call", "name", "ok", "result"}, "after_message": {"message", "replies"},
		"on_error": {"code", "message"}, "on_session_end": {"key", "reason"},
	}
	cfg := scripted(t, `rules:
  - {after_tool: "*", error: {status: 400, message: no}}
  - {tool_calls: [{name: now, args: {}}]}
`)
	cfg.Agents[0].Tools, cfg.Agents[0].Session.TTL = []string{"now"}, 100*time.Millisecond
	for _, on := range hooks.Points() {
		cfg.Hooks = append(cfg.Hooks, hooks.Config{On: on, Subject: "acme.all"})
	}
	h, _ := start(t, cfg)
	calls := respond(t, h.Bus().NC, "acme.all", carryOn)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	got := map[string][]string{}
	for len(got) < len(args) {
		select {
		case call := <-calls:
			got[call.Hook] = slices.Sorted(maps.Keys(call.Args))
		case <-time.After(waittest.Within):
			t.Fatalf("of the nine only these were fired: %v", got)
		}
	}
	if diff := cmp.Diff(args, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}
