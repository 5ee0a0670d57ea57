package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agenthost/client"
	"agenthost/config"
	"agenthost/host"

	"github.com/nats-io/nats.go"
)

// seen asks a host for its runs until they are as wanted.
func seen(t *testing.T, nc *nats.Conn, want func([]client.RunStatus) bool) []client.RunStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		msg, err := nc.RequestWithContext(ctx, client.RunsSubject, nil)
		if err != nil {
			t.Fatalf("the runs are not as wanted: %v", err)
		}
		report, err := client.ReadRuns(msg.Data)
		if err != nil {
			t.Fatal(err)
		}
		if want(report.Runs) {
			return report.Runs
		}
	}
}

// inPhase reports whether there is one run, in that phase.
func inPhase(phase string) func([]client.RunStatus) bool {
	return func(runs []client.RunStatus) bool { return len(runs) == 1 && runs[0].Phase == phase }
}

// scriptedHost is a host whose agent ana goes by a script.
func scriptedHost(t *testing.T, rules, agent string) *host.Host {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "play.yaml"), []byte("rules:\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: scripted, script: play.yaml}}\n" +
		"hooks:\n  - {on: before_message, subject: acme.in, timeout: 5m, fail: open}\n  - {on: before_tool_call, subject: acme.tool, timeout: 5m, fail: open}\n" +
		"agents:\n  - {id: ana, model: main, channels: [web], " + agent + "}\n"
	cfg, err := config.Parse(filepath.Join(folder, "agenthost.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	h, _ := start(t, cfg)
	return h
}

func TestPromptIsShownAsTheModelGetsIt(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	h, _ := start(t, shown(t, "agents.md", b, nil))
	ask := func(agent string) (client.Preview, *nats.Msg) {
		request, _ := json.Marshal(client.PreviewRequest{Agent: agent})
		msg, err := h.Bus().NC.RequestWithContext(t.Context(), client.PromptSubject, request)
		if err != nil {
			t.Fatal(err)
		}
		p := client.Preview{}
		_ = json.Unmarshal(msg.Data, &p) // an error has none
		return p, msg
	}
	p, _ := ask("ana")
	for channel, got := range map[string]struct {
		system string
		tools  []client.PreviewTool
	}{"web": {p.System, p.Tools}, "telegram.sales": {p.Bindings[0].System, p.Bindings[0].Tools}} {
		tell(t, h, channel, "hello")
		sent := last(b)
		if got.system != sent.system {
			t.Errorf("%s: shown %q, sent %q", channel, got.system, sent.system)
		}
		names := []string{}
		for _, tool := range got.tools {
			names = append(names, tool.Name)
		}
		if want := sent.request(t).Tools; !slices.Equal(names, want) {
			t.Errorf("%s: shown %v, sent %v", channel, names, want)
		}
	}
	if _, msg := ask("bo"); msg.Header.Get("Nats-Service-Error-Code") != "404" {
		t.Errorf("no such agent: got %v %s", msg.Header, msg.Data)
	}
}
