package host_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// A task for an agent that is configured nowhere gets an error result at its deadline,
// with the name that was meant.
func TestTaskOfAnAgentThatIsConfiguredNowhere(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	h, stop := start(t, cfg)
	id := cfg.Agents[0].ID
	data, err := json.Marshal(bus.Route{
		ID: "1", Kind: bus.RouteDelegate, From: "cli", Text: "a task", ReplyTo: "results.here", Deadline: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Bus().JS.Publish(t.Context(), "agent.route."+id+"x", data); err != nil {
		t.Fatal(err)
	}
	stop()
	again := demo(t)
	again.NATS = cfg.NATS
	h, _ = start(t, again)
	came := make(chan *nats.Msg, 10)
	if _, err := h.Bus().NC.ChanSubscribe("results.here", came); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-came:
		if want := `agent \"` + id + `x\" is not configured; did you mean \"` + id + `\"?`; !strings.Contains(string(m.Data), want) {
			t.Errorf("got %s, want it to say %s", m.Data, want)
		}
	case <-time.After(waittest.Within):
		t.Error("no result comes")
	}
}
