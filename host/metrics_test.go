package host_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/host"
	"agenthost/internal/waittest"
)

// What a message leads to is counted once: the message, its run, its reply, and as a dead
// letter one that cannot be read.
func TestMessagesAreCounted(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	out()
	if err := nc.Publish("agent.route.demo", []byte(`{"kind":`)); err != nil {
		t.Fatal(err)
	}
	shows(t, h,
		`agenthost_inbound_messages_total{agent="demo",channel="demo"} 1`,
		`agenthost_runs_total{agent="demo",outcome="settled"} 1`,
		`agenthost_outbound_messages_total{agent="demo",channel="demo",kind="reply"} 1`,
		`agenthost_dead_letters_total{agent="demo"} 1`,
		`agenthost_oldest_waiting_seconds{agent="demo"} 0`,
	)
}

// A message behind a run that goes on is waiting, and both are the lag of their lane.
func TestWaitingMessagesAreShown(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	srv := modelServer(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		<-goOn
		speaks(w)
	})
	h, _ := start(t, served(t, srv))
	nc := h.Bus().NC
	out := outbound(t, nc, 2)
	for range 2 {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	}
	waits, lag := regexp.MustCompile(`agenthost_oldest_waiting_seconds\{agent="demo"\} [0-9.e-]*[1-9]`), regexp.MustCompile(`agenthost_lane_lag\{lane="\d+"\} 2\n`)
	waittest.Until(t, "the second message waits", func() bool {
		page := scrape(t, h)
		return waits.MatchString(page) && lag.MatchString(page)
	})
	close(goOn)
	out()
	shows(t, h,
		`agenthost_inbound_messages_total{agent="demo",channel="demo"} 2`,
		`agenthost_runs_total{agent="demo",outcome="settled"} 2`,
		`agenthost_oldest_waiting_seconds{agent="demo"} 0`,
	)
	waittest.Until(t, "nothing is left to do", func() bool { return !lag.MatchString(scrape(t, h)) })
}

// shows waits until all lines are among the metrics.
func shows(t *testing.T, h *host.Host, lines ...string) {
	t.Helper()
	for _, line := range lines {
		waittest.Until(t, line, func() bool { return strings.Contains(scrape(t, h), "\n"+line+"\n") })
	}
}
