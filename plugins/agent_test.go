package plugins_test

import (
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/llm"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

const asking = `
rules:
  - {is: write, tool_calls: [{name: write_file, args: {path: note.txt, text: written}}]}
  - {is: ask, tool_calls: [{name: ask_human, args: {question: "Which?", options: [Red, Blue]}}]}
  - {is: count, tool_calls: [{name: ask_human, args: {question: "How many?", options: ["0", "1", "2"]}}]}
  - {after_tool: "*", text: "tool said: ${result}"}
  - {when: slowly, chunks: ["one two ", "three four ", "five six ", "seven"], delay: 1500ms}
  - {text: "I heard ${text}"}
`

// agentAndChannel runs a host with an agent, and a courier beside it.
func agentAndChannel(t *testing.T, id string, limits plugins.Limits) *memory {
	t.Helper()
	url, _ := bustest.Server(t)
	cfg := hosttest.Demo(t)
	cfg.NATS = bus.Config{URL: url, Embedded: bus.Embedded{Store: t.TempDir()}}
	cfg.Models["echo"] = llm.Config{Provider: "scripted", Script: bustest.WriteFile(t, "script.yaml", asking)}
	cfg.Agents[0].ID = id
	cfg.Agents[0].Tools = []string{"*"}
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "test", Instance: "one"}}
	hosttest.Start(t, host.Options{Config: cfg, Log: hosttest.Log(t)})
	b := connect(t, url)
	platform := newMemory(limits)
	publisher, err := publishing.New(b.NC, b.Log)
	if err != nil {
		t.Fatal(err)
	}
	background(t, publisher.Run)
	courier := plugins.New(plugins.Account{Channel: "test", Instance: "one", Settings: settings.Account{Stream: true}}, platform, plugins.Parts{
		NC: b.NC, JS: b.JS, Publisher: publisher, Files: filestore.New(b.JS), Reader: records.NewReader(b.JS),
		Host: "host-1", Log: b.Log, Agents: func() []string { return []string{id} },
	})
	background(t, courier.Run)
	bustest.Eventually(t, "it is connected", func() bool { return courier.Status().State == plugins.StateConnected })
	return platform
}

// Buttons and numbers answer what an agent asks, whatever its name.
func TestAnswersReachTheAgent(t *testing.T) {
	t.Parallel()
	press := func(label string) func(*memory) {
		return func(p *memory) { p.platform().Press("direct", label) }
	}
	write := func(text string) func(*memory) {
		return func(p *memory) { p.write(plugins.Received{From: "ana", Text: text}) }
	}
	noButtons := chatLimits()
	noButtons.Buttons = 0
	tests := map[string]struct {
		agent, order string
		limits       plugins.Limits
		asks         string
		answer       func(*memory)
		want         string
	}{
		"approve by a button":    {"demo", "write", chatLimits(), "approve or deny", press("approve"), "tool said: wrote 7 bytes"},
		"deny by a button":       {longAgent, "write", chatLimits(), "approve or deny", press("deny"), "tool said: "},
		"an option by a button":  {longAgent, "ask", chatLimits(), "Which?", press("Blue"), "tool said: Blue"},
		"an option by a number":  {"demo", "ask", noButtons, "Which?\n\n1. Red\n2. Blue", write("2"), "tool said: Blue"},
		"a number by a button":   {"demo", "count", chatLimits(), "How many?", press("0"), "tool said: 0"},
		"a number by a word":     {"demo", "count", noButtons, "How many?\n\n• 0\n• 1\n• 2", write("1"), "tool said: 1"},
		"approve by a number":    {"demo", "write", noButtons, "1. approve\n2. deny", write("1"), "tool said: wrote 7 bytes"},
		"deny by a number":       {"demo", "write", noButtons, "1. approve\n2. deny", write("2."), "tool said: "},
		"approve by a word":      {"demo", "write", noButtons, "approve or deny", write("yes"), "tool said: wrote 7 bytes"},
		"an option by its words": {"demo", "ask", noButtons, "Which?", write("red"), "tool said: Red"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			platform := agentAndChannel(t, tt.agent, tt.limits)
			said := func(want string) func() bool {
				return func() bool { return strings.Contains(strings.Join(platform.texts("ana"), "\n"), want) }
			}
			platform.write(plugins.Received{From: "ana", Text: tt.order})
			bustest.Eventually(t, "the agent asks", said(tt.asks))
			tt.answer(platform)
			bustest.Eventually(t, "the agent goes on", said(tt.want))
		})
	}
}
