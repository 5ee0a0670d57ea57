package memory_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/tools"
	"agenthost/tools/memory"

	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	bustest.VerifyNoLeaks(m)
}

const (
	ana   = "telegram.sales/dm/ana"
	bob   = "telegram.sales/dm/bob"
	group = "telegram.sales/group/-10012"
)

// open is a bus with the buckets of a fleet.
func open(t testing.TB) *bus.Bus {
	t.Helper()
	b := bustest.Open(t)
	if err := streams.Provision(t.Context(), b.JS, 0, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	return b
}

// A host is the memory of a host that runs.
type host struct {
	tools map[string]tools.Tool
	stop  func()
}

func start(t testing.TB, js jetstream.JetStream, opt memory.Options) host {
	t.Helper()
	opt.Log = bustest.Log(t)
	m := memory.New(js, opt)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stopped := false
	h := host{tools: map[string]tools.Tool{}, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}}
	t.Cleanup(h.stop)
	for _, tool := range m.Tools() {
		h.tools[tool.Name] = tool
	}
	return h
}

// call uses a tool in a session of the agent demo.
func (h host) call(t testing.TB, session, id, tool string, args any) (string, error) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.tools[tool].Run(t.Context(), tools.Call{ID: id, Agent: "demo", Session: session, Name: tool, Args: data})
	if err == nil && res.Failed {
		t.Errorf("%s: failed: %s", tool, res.Text)
	}
	return res.Text, err
}

type args map[string]any

func (h host) do(t testing.TB, session, id, tool string, a args) string {
	t.Helper()
	text, err := h.call(t, session, id, tool, a)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// remember returns the id of the note.
func (h host) remember(t testing.TB, session, id, text, about string) string {
	t.Helper()
	a := args{"text": text}
	if about != "" {
		a["about"] = about
	}
	words := strings.Fields(strings.TrimSuffix(h.do(t, session, id, "remember", a), "."))
	return words[len(words)-1]
}

// found are the texts that recall finds.
func (h host) found(t testing.TB, session, query string) []string {
	t.Helper()
	texts := []string{}
	for line := range strings.Lines(h.do(t, session, "r", "recall", args{"query": query, "limit": 10})) {
		f := struct{ Text string }{}
		if json.Unmarshal([]byte(line), &f) == nil {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not in 20 s: %s", what)
		case <-tick.C:
		}
	}
}

func notes(t testing.TB, js jetstream.JetStream, agent, person string) []memory.Note {
	t.Helper()
	list, err := memory.All(t.Context(), js, agent, person)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
