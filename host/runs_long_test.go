//go:build long

package host_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"agenthost/bus"
	"agenthost/client"
)

// A run is seen from the moment its message is there: while a hook looks at it,
// while its model or a tool is waited for, and by all that it waits for.
func TestRunsAreSeenInEachPhase(t *testing.T) {
	t.Parallel()
	h := scriptedHost(t, `  - {is: tool, tool_calls: [{name: now, args: {}}]}
  - {after_tool: now, delay: 1h, text: never}
`, "tools: [now]")
	nc := h.Bus().NC
	held := map[string]chan *nats.Msg{}
	for _, subject := range []string{"acme.in", "acme.tool"} {
		held[subject] = make(chan *nats.Msg, 1)
		if _, err := nc.ChanSubscribe(subject, held[subject]); err != nil {
			t.Fatal(err)
		}
	}
	goOn := func(subject string) {
		if err := (<-held[subject]).Respond([]byte(`{"action":"continue"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if runs := seen(t, nc, func([]client.RunStatus) bool { return true }); runs == nil || len(runs) != 0 {
		t.Errorf("at rest: got %+v, want a list of none", runs)
	}
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "bo", Text: "tool"})
	run := seen(t, nc, inPhase("starting"))[0]
	if run.Agent != "ana" || run.Session != "web/dm/bo" || time.Since(run.Since) > time.Minute || run.Run != "" {
		t.Errorf("starting: got %+v", run)
	}
	goOn("acme.in")
	run = seen(t, nc, inPhase("dispatching"))[0]
	if !slices.Equal(run.For, []string{"now"}) || run.Model != "main" || run.Run == "" || run.Trigger != "message" {
		t.Errorf("dispatching: got %+v", run)
	}
	goOn("acme.tool")
	if run = seen(t, nc, inPhase("invoking"))[0]; run.Model != "main" || len(run.For) > 0 {
		t.Errorf("invoking: got %+v", run)
	}
}

// What waits for a free slot is seen, too.
func TestQueuedRunsAreSeen(t *testing.T) {
	t.Parallel()
	h := scriptedHost(t, "  - {delay: 1h, text: never}\n", "limits: {concurrency: 1}")
	for _, from := range []string{"a", "b", "c"} {
		publish(t, h.Bus().NC, "plugin.inbound.web", bus.Inbound{From: from, Text: "hello"})
	}
	runs := seen(t, h.Bus().NC, func(runs []client.RunStatus) bool {
		phases := ""
		for _, r := range runs {
			phases += r.Phase + " "
		}
		return strings.Count(phases, "queued") == 2 && strings.Contains(phases, "invoking")
	})
	for _, r := range runs {
		if r.Since.IsZero() || !strings.HasPrefix(r.Session, "web/dm/") {
			t.Errorf("got %+v", r)
		}
	}
}
