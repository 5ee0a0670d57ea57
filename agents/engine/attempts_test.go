package engine_test

import (
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// The log of a session says of each call of a model by which entry of the
// configuration it was, and of one that failed the status and the reason.
func TestCallsSayEntryStatusAndReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, actor{
		cfg:  agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "web"}}},
		gate: llm.NewGate("main", llm.Rate{}),
		script: `
rules:
  - {times: 1, error: {status: 503, message: the server is busy}}
  - {text: fine}
`,
	})
	w.say("web", bus.Inbound{ID: "m1", Text: "hello"})
	w.hear()
	var calls []run.Event
	for _, e := range w.log("ana", session.DM("web", "", "ana")) {
		if e.Type == run.ModelCalled {
			calls = append(calls, e)
		}
	}
	if len(calls) != 2 {
		t.Fatalf("got %d calls, want 2", len(calls))
	}
	if c := calls[0]; c.Entry != "main" || c.Status != 503 || c.Reason != "the server is busy" || c.Error == nil {
		t.Errorf("first: got entry %q, status %d, reason %q", c.Entry, c.Status, c.Reason)
	}
	if c := calls[1]; c.Entry != "main" || c.Status != 0 || c.Reason != "" || c.Error != nil {
		t.Errorf("second: got entry %q, status %d, reason %q", c.Entry, c.Status, c.Reason)
	}
}
