package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/host"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// start runs a host in the test and stops it at the end.
func start(t testing.TB, cfg *config.Config) (*host.Host, func()) {
	t.Helper()
	return startNamed(t, cfg, "")
}

func startNamed(t testing.TB, cfg *config.Config, name string) (*host.Host, func()) {
	t.Helper()
	return startOptions(t, host.Options{Config: cfg, Name: name, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)})
}

// startWith is start for a test that has options of its own.
func startWith(t testing.TB, opt host.Options) *host.Host {
	t.Helper()
	h, _ := startOptions(t, opt)
	return h
}

func startOptions(t testing.TB, opt host.Options) (*host.Host, func()) {
	t.Helper()
	opt.Grace, opt.Version = 5*time.Second, "0.1.0"
	h := host.New(opt)
	return h, serveHost(t, h)
}

// serveHost runs a host until stop is called, or the test ends.
func serveHost(t testing.TB, h *host.Host) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the host does not stop")
		}
	}
	t.Cleanup(stop)
	select {
	case <-h.Ready():
	case err := <-done:
		stopped = true
		t.Fatalf("Run: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("the host does not get ready")
	}
	return stop
}

func demo(t testing.TB) *config.Config {
	t.Helper()
	cfg := config.Demo()
	none := ""
	cfg.NATS.Embedded = bus.Embedded{Store: t.TempDir(), Listen: &none}
	cfg.HTTP.Listen = "127.0.0.1:0"
	return cfg
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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
	msg, err := h.Bus().NC.RequestWithContext(t.Context(), host.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(msg.Data), `"agents":[]`) {
		t.Errorf("got %s", msg.Data)
	}
}

// A slowLog is slow to write that the host stops.
type slowLog struct{ lockedBuffer }

func (l *slowLog) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"stopping;`)) {
		time.Sleep(200 * time.Millisecond)
	}
	return l.lockedBuffer.Write(p)
}

func TestStoppingIsToldBeforeStopped(t *testing.T) {
	log := &slowLog{}
	_, stop := startOptions(t, host.Options{Config: demo(t), Log: zerolog.New(log)})
	stop()
	stopping, stopped := strings.Index(log.String(), `"stopping;`), strings.Index(log.String(), `"stopped"`)
	if stopping < 0 || stopped < stopping {
		t.Errorf("want that it stops before that it has stopped:\n%s", log.String())
	}
}
