package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// start runs a host in the test and stops it at the end.
func start(t testing.TB, cfg *config.Config) (*host.Host, func()) {
	t.Helper()
	return startNamed(t, cfg, "")
}

// clientOf talks to a host over its own connection.
func clientOf(h *host.Host) *client.Client {
	return client.New(h.Bus().NC, h.Bus().JS, client.Options{})
}

func startNamed(t testing.TB, cfg *config.Config, name string) (*host.Host, func()) {
	t.Helper()
	return startOptions(t, host.Options{Config: cfg, Name: name, Log: hosttest.Log(t)})
}

// startWith is start for a test that has options of its own.
func startWith(t testing.TB, opt host.Options) *host.Host {
	t.Helper()
	h, _ := startOptions(t, opt)
	return h
}

func startOptions(t testing.TB, opt host.Options) (*host.Host, func()) {
	t.Helper()
	return hosttest.Start(t, opt)
}

func demo(t testing.TB) *config.Config {
	t.Helper()
	return hosttest.Demo(t)
}

func TestDemoAnswers(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.demo")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish("plugin.inbound.demo", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	out := next(t, sub)
	if out.Text != "hi" || !out.Final || out.InReplyTo != "AGENT_INBOUND:1" || out.Kind != "reply" {
		t.Errorf("got %+v", out)
	}
}

func next(t *testing.T, sub *nats.Subscription) bus.Outbound {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Within)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatalf("no message on %s: %v", sub.Subject, err)
	}
	out := bus.Outbound{}
	if err := json.Unmarshal(msg.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func cfgScripted(path string) llm.Config { return llm.Config{Provider: "scripted", Script: path} }

// Without agents there is a list of none, and not null.
func TestStatusWithoutAgents(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Agents = nil
	h, _ := start(t, cfg)
	msg, err := h.Bus().NC.RequestWithContext(t.Context(), client.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(msg.Data), `"agents":[]`) {
		t.Errorf("got %s", msg.Data)
	}
}

// A heldLog holds the line that says that the host stops back.
type heldLog struct {
	bustest.LogBuffer
	stopping, release chan struct{}
}

func (l *heldLog) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"stopping;`)) {
		close(l.stopping)
		<-l.release
	}
	return l.LogBuffer.Write(p)
}

func TestStoppingIsToldBeforeStopped(t *testing.T) {
	t.Parallel()
	log := &heldLog{stopping: make(chan struct{}), release: make(chan struct{})}
	h := host.New(host.Options{Config: demo(t), Log: zerolog.New(log)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	waittest.For(t, "the host is ready", h.Ready())
	cancel()
	waittest.For(t, "the host stops", log.stopping)
	waittest.Until(t, "the host pulls no more", func() bool { return pulls(t, h, "demo") == 0 })
	close(log.release)
	if err := waittest.For(t, "the host has stopped", done); err != nil {
		t.Error(err)
	}
	stopping, stopped := strings.Index(log.String(), `"stopping;`), strings.Index(log.String(), `"stopped"`)
	if stopping < 0 || stopped < stopping {
		t.Errorf("want that it stops before that it has stopped:\n%s", log.String())
	}
}

// pulls are the requests for messages that the lane of an agent holds.
func pulls(t *testing.T, h *host.Host, agent string) int {
	t.Helper()
	c, err := h.Bus().JS.Consumer(context.Background(), bus.InboundStream, delivery.LaneName(laneOf(agent, 4)))
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo().NumWaiting
}
