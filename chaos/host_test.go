//go:build unix && long

package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// newHost makes a host of the given name for a configuration file.
func newHost(t testing.TB, file, name string, args ...string) *process {
	t.Helper()
	return newProcess(t, "host-"+name, append([]string{binary, "run", "-c", file, "--name", name, "--log-format", "json"}, args...)...)
}

// The channels of the agents in every configuration.
const (
	chat  = "chat"  // one run after the other
	notes = "notes" // collected
	flood = "flood" // an agent of its own
)

// A setup is what differs between the configurations of the tests.
type setup struct {
	nats  string // address of the server
	embed bool   // whether it is embedded in the host
	model string // base URL; empty: the scripted model
}

// script answers everything with itself, some of it after a tool call or with
// the help of another agent, a flood slowly enough for a mailbox to run full.
const script = `rules:
  - {after_tool: "*", text: "${text}"}
  - {when: tool, tool_calls: [{name: now, args: {}}]}
  - {when: help, tool_calls: [{name: delegate, args: {to: bob, task: a task}}]}
  - {when: flood, delay: 25ms, text: "${text}"}
  - {text: "${text}"}
`

// write writes the configuration to a folder of its own and returns the file.
func (s setup) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	nats := fmt.Sprintf("{url: %q, embedded: {store: data}}", "nats://"+s.nats)
	if s.embed {
		nats = fmt.Sprintf("{embedded: {store: data, listen: %q, anonymous: all}}", s.nats)
	}
	model := "{provider: scripted, script: script.yaml}"
	if s.model != "" {
		model = fmt.Sprintf("{provider: openai, model: any, base_url: %q}", s.model)
	}
	files := map[string]string{
		"script.yaml": script,
		"agenthost.yaml": fmt.Sprintf(`nats: %s
http: {listen: ""}
models: {main: %s}
agents:
  - {id: ana, model: main, channels: [chat], tools: [now, delegate], delegates: [bob]}
  - {id: bob, model: main}
  - {id: col, model: main, tools: [now], channels: [{channel: notes, queue: collect, debounce: 20ms}]}
  - {id: flo, model: main, tools: [now], channels: [flood]}
`, nats, model),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "agenthost.yaml")
}
