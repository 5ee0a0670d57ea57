package host_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/plugins/settings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

func provision(t *testing.T, h *host.Host) {
	t.Helper()
	if err := streams.Provision(t.Context(), h.Bus().JS, 1, 0, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
}

// A host without one of its streams is not ready and says why, until it is
// there again; then it goes on where it was.
func TestReadyzMissesAStream(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{bus.InboundStream, bus.SessionsStream, bus.OutboundStream} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			h, _ := start(t, demo(t))
			nc := h.Bus().NC
			sub, err := nc.SubscribeSync("plugin.outbound.demo")
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Bus().JS.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			body := readyz(t, h)
			if body["status"] != "not ready" || !strings.Contains(body["reason"], "stream "+stream+" is gone") {
				t.Errorf("got %v", body)
			}
			provision(t, h)
			if body := readyz(t, h); body["status"] != "ready" {
				t.Errorf("with the stream: got %v", body)
			}
			if _, err := h.Bus().JS.Publish(t.Context(), "plugin.inbound.demo", []byte("hi")); err != nil {
				t.Fatal(err)
			}
			if out := next(t, sub); out.Text != "hi" {
				t.Errorf("got %+v", out)
			}
		})
	}
}

// What a sealed stream refuses is kept until there is another in its place.
func TestReplyOutlivesASealedStream(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	js := h.Bus().JS
	sub, err := h.Bus().NC.SubscribeSync("plugin.outbound.demo")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), bus.OutboundStream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Sealed = true
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if body := readyz(t, h); !strings.Contains(body["reason"], "AGENT_OUTBOUND is sealed") {
		t.Errorf("got %v", body)
	}
	if _, err := js.Publish(t.Context(), "plugin.inbound.demo", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	next(t, sub) // it is refused as well
	if err := js.DeleteStream(t.Context(), bus.OutboundStream); err != nil {
		t.Fatal(err)
	}
	provision(t, h)
	bustest.Eventually(t, "the reply is stored", func() bool {
		stream, err := js.Stream(t.Context(), bus.OutboundStream)
		if err != nil {
			return false
		}
		_, err = stream.GetLastMsgForSubject(t.Context(), "plugin.outbound.demo")
		return err == nil
	})
}

// A message without an id is not taken for one of a stream before, where it has
// the same sequence.
func TestInboundMadeAgain(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	sub, err := h.Bus().NC.SubscribeSync("plugin.outbound.demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"before", "after"} {
		if _, err := h.Bus().JS.Publish(t.Context(), "plugin.inbound.demo", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if out := next(t, sub); out.Text != text {
			t.Errorf("got %+v, want %s", out, text)
		}
		if text == "before" {
			if err := h.Bus().JS.DeleteStream(t.Context(), bus.InboundStream); err != nil {
				t.Fatal(err)
			}
			provision(t, h)
		}
	}
}

// A lines is a log that is watched while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{} // closed once want was logged
}

func watched(want string) *lines { return &lines{want: want, seen: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.want != "" && bytes.Contains(p, []byte(l.want)) {
		close(l.seen)
		l.want = ""
	}
	return l.text.Write(p)
}

func (l *lines) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), words)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// warnings counts the warnings with these words.
func (l *lines) warnings(words string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, `"level":"warn"`) && strings.Contains(line, words) {
			n++
		}
	}
	return n
}

func TestReadyzSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.NATS.URL = "nats://127.0.0.1:1"
	log := watched("waiting for NATS")
	h := host.New(host.Options{Config: cfg, Log: zerolog.New(log)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	<-log.seen
	waittest.Until(t, "it says who does not answer", func() bool { // once it has tried
		body := readyz(t, h)
		return body["status"] == "not ready" && strings.HasPrefix(body["reason"], "waiting for NATS since 20") &&
			strings.Contains(body["reason"], "127.0.0.1:1: dial tcp")
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A version that asks NATS for more than the one before has to be given the permission: it says
// which, and how to print all of them.
func TestReadyzSaysWhichPermissionItLacks(t *testing.T) {
	t.Parallel()
	lacking := "$JS.API.STREAM.INFO.KV_" + bus.TokensBucket
	cfg := demo(t)
	cfg.NATS.User, cfg.NATS.Password = "host", "secret"
	cfg.NATS.URL, _ = bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "host", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{lacking}},
		}}}
	})
	log := watched(lacking)
	h := host.New(host.Options{Config: cfg, Log: zerolog.New(log)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	<-log.seen
	reason := readyz(t, h)["reason"]
	for _, want := range []string{"waiting for NATS", lacking, "agenthost nats-permissions --for host"} {
		if !strings.Contains(reason, want) {
			t.Errorf("got %q, want %q in it", reason, want)
		}
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What keeps all sessions from being opened is logged a few times.
func TestSessionsThatCannotBeOpenedLogNoFlood(t *testing.T) {
	t.Parallel()
	const people = 100
	log := watched("")
	h := startWith(t, host.Options{Config: demo(t), Log: zerolog.New(log)})
	if err := h.Bus().JS.DeleteStream(t.Context(), bus.SessionsStream); err != nil {
		t.Fatal(err)
	}
	for i := range people {
		body := `{"from":"` + strconv.Itoa(i) + `","text":"hi"}`
		if _, err := h.Bus().JS.Publish(t.Context(), "plugin.inbound.demo", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "the host has tried", func() bool { return log.count("session cannot be opened") > 0 })
	provision(t, h)
	kept[bus.Outbound](t, h.Bus().NC, bus.OutboundStream, people)
	if n := log.count("session cannot be opened"); n > 50 {
		t.Errorf("%d sessions made %d log lines, want a few", people, n)
	}
}

// At the start a host says where its pages are, and why there is no chat page where agents are
// bound to it.
func TestPagesAreSaidAtTheStart(t *testing.T) {
	t.Parallel()
	const off = "chat: no page; agents have the channel web, and plugins has no web: {}"
	tests := map[string]struct {
		channel string
		web     *settings.Web
		want    string
		not     string
	}{
		"on":         {"web", &settings.Web{}, "/chat\"", off},
		"off":        {"web", nil, off, "/chat\""},
		"no agent's": {"demo", nil, "console: http://", "chat: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := demo(t)
			cfg.Plugins.Web = tt.web
			cfg.Agents[0].Channels = []agents.Binding{{Channel: tt.channel}}
			log := watched("console: http://")
			startWith(t, host.Options{Config: cfg, Log: zerolog.New(log)})
			waittest.For(t, "the pages are said", log.seen)
			if log.count(tt.want) != 1 || log.count(tt.not) != 0 {
				t.Errorf("want %q and not %q in:\n%s", tt.want, tt.not, log.all())
			}
		})
	}
}
