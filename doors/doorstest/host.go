// Package doorstest runs a host for the tests of doors.
package doorstest

import (
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"

	"github.com/nats-io/nats.go"
)

// script is what the model of the agents says.
const script = `
rules:
  - {is: "write", tool_calls: [{name: write_file, args: {path: note.txt, text: hello}}]}
  - {after_tool: write_file, text: "done: ${result}"}
  - {is: "colour", tool_calls: [{name: ask_human, args: {question: "Which colour?", options: [Red, Blue]}}]}
  - {is: "name", tool_calls: [{name: ask_human, args: {question: "Which name?"}}]}
  - {after_tool: ask_human, text: "You like ${result}."}
  - {is: "story", delay: 150ms, chunks: ["Once ", "upon ", "a ", "time."]}
  - {is: "endless", delay: 1h, text: never}
  - {is: "long", chunks: ["So ", "far"], finish: length}
  - {is: "broken", error: {status: 400, message: "this model is broken"}}
  - {text: "ana: ${text}"}
`

// Config is that of a host with the agents ana and shy, which no door leads to. What is
// in more is added to the top of the file.
func Config(t testing.TB, more string) *config.Config {
	t.Helper()
	file := bustest.WriteFile(t, "play.yaml", script)
	text := more + `
nats: {embedded: {listen: "", store: ` + filepath.Join(filepath.Dir(file), "data") + `}}
models: {main: {provider: scripted, script: play.yaml}}
agents:
  - id: ana
    description: Helps.
    model: main
    tools: [write_file, ask_human]
    permissions: {write_file: ask}
  - {id: shy, model: main, doors: []}
`
	if !strings.Contains(more, "http:") {
		text += "http: {listen: \"127.0.0.1:0\"}\n"
	}
	cfg, err := config.Parse(filepath.Join(filepath.Dir(file), "agenthost.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A Host is one that runs until the test ends.
type Host struct {
	*host.Host
	Client *client.Client
	NC     *nats.Conn
	Stop   func()
}

// Start runs a host with Config.
func Start(t testing.TB, more string) *Host {
	t.Helper()
	return Serve(t, Config(t, more))
}

// Serve runs a host with a configuration, which may be one that ran before.
func Serve(t testing.TB, cfg *config.Config) *Host {
	t.Helper()
	h, stop := hosttest.Start(t, host.Options{Config: cfg, Log: hosttest.Log(t)})
	b := h.Bus()
	return &Host{Host: h, Client: client.New(b.NC, b.JS, client.Options{}), NC: b.NC, Stop: stop}
}

// Inbound is the number of messages that are stored.
func (h *Host) Inbound(t testing.TB) uint64 {
	t.Helper()
	s, err := h.Client.JetStream().Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}
