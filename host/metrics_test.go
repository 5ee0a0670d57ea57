package host_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
	"agenthost/plugins"
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

// A refusing is a channel whose platform takes nothing.
type refusing struct{ *pager }

func (refusing) Deliver(context.Context, plugins.Message) (string, error) {
	return "", plugins.Permanent(errors.New("chat not found"))
}

// Dead letters of plugins count as those of lanes do, and all count from 0.
func TestDeadLettersAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agenthost.yaml")
	text := `
nats: {embedded: {store: ./data, listen: ""}}
http: {listen: "127.0.0.1:0"}
models: {main: {provider: echo}}
plugins: {pager: {night: {number: "555-0100"}}}
agents:
  - {id: ana, model: main, channels: [{channel: pager, instance: night}]}
  - {id: bob, model: main, channels: [web]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(path, host.Options{Log: hosttest.Log(t), Channels: map[string]plugins.Maker{
		"pager": func(map[string]any) (plugins.Channel, error) { return refusing{&pager{}}, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Serve(t, h)
	shows(t, h,
		`agenthost_dead_letters_total{agent="bob"} 0`,
		`agenthost_channel_undeliverable_total{channel="pager",instance="night"} 1`,
		`agenthost_dead_letters_total{agent="ana"} 1`,
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

// What waits for a person is shown by the host that serves the agent, and by no other, so that
// the sum is right; and after a restart, before any message has come.
func TestOpenApprovalsAreShown(t *testing.T) {
	t.Parallel()
	f := newChangedFleet(t)
	cfg := withTools(t)
	cfg.NATS.URL = f.url
	blue, stop := f.start("blue", cfg)
	green, _ := f.start("green", cfg)
	w := asked(t, blue, "write")
	const one, none = `agenthost_approvals_open{agent="demo"} 1`, `agenthost_approvals_open{agent="demo"} 0`
	count := func(line string) (n int) {
		for _, h := range []*host.Host{blue, green} {
			n += strings.Count(scrape(t, h), "\n"+line+"\n")
		}
		return n
	}
	waittest.Until(t, "one host shows it", func() bool { return count(one) == 1 && count(none) == 1 })
	shows(t, green, `agenthost_questions_open{agent="demo"} 0`)
	stop()
	shows(t, green, one)
	restarted, _ := f.start("blue", cfg)
	blue = restarted
	waittest.Until(t, "one host shows it", func() bool { return count(one) == 1 && count(none) == 1 })
	if _, err := clientOf(green).Answer(t.Context(), client.Answer{ID: w.ID, Text: "approve"}, waittest.Within); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "nothing is open", func() bool { return count(none) == 2 })
}

// shows waits until all lines are among the metrics.
func shows(t *testing.T, h *host.Host, lines ...string) {
	t.Helper()
	for _, line := range lines {
		waittest.Until(t, line, func() bool { return strings.Contains(scrape(t, h), "\n"+line+"\n") })
	}
}

// A token that is for some agents sees no numbers of the others.
func TestMetricsOfATokenWithAgents(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	all, some := callAPI(t, h, readToken, http.MethodGet, "/metrics", ""), callAPI(t, h, someToken, http.MethodGet, "/metrics", "")
	for _, a := range []answered{all, some} {
		if a.code != http.StatusOK || !strings.Contains(string(a.body), `{agent="demo"}`) || !strings.Contains(string(a.body), "go_goroutines ") {
			t.Errorf("got %d %s", a.code, a.body)
		}
	}
	if !strings.Contains(string(all.body), `{agent="other"}`) || strings.Contains(string(some.body), `"other"`) {
		t.Errorf("for all: got %s\nfor some: got %s", all.body, some.body)
	}
}
