package openai_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
)

// A repeat without a key joins the run that is under way, also that of a host which
// has ended since.
func TestRepeatWhileItRuns(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, "rules: [{delay: 2s, text: slow}]")
	h := doorstest.Serve(t, cfg)
	done := make(chan answer, 1)
	go func() {
		a, _ := tryAt(context.Background(), h.HTTP(), "POST", chatPath, chatOf("x"), nil)
		done <- a
	}()
	waittest.Until(t, "the message is stored", func() bool { return h.Inbound(t) == 1 })
	again := ask(t, h, "POST", chatPath, chatOf("x"), header{"X-Stainless-Retry-Count": "1"})
	first := waittest.For(t, "the first", done)
	if first.Body != again.Body || first.content(t) != "slow" || h.Inbound(t) != 1 {
		t.Errorf("got %s, first %s, %d messages", again.Body, first.Body, h.Inbound(t))
	}
	h.Stop()
	h = doorstest.Serve(t, cfg)
	again = ask(t, h, "POST", chatPath, chatOf("x"), header{"X-Stainless-Retry-Count": "2"})
	if first.Body != again.Body || h.Inbound(t) != 1 {
		t.Errorf("after a restart: got %s, first %s, %d messages", again.Body, first.Body, h.Inbound(t))
	}
}

// The window of the stream, in which it drops a second copy, is not what keeps a
// request from being run twice.
func TestKeyBeyondTheWindowOfTheStream(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	keyed := header{"Idempotency-Key": "k", "Agent-Session": "s"}
	first := ask(t, h, "POST", chatPath, chatOf("hi"), keyed)
	s, err := h.Client.JetStream().Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, h, "POST", chatPath, chatOf("more"), header{"Agent-Session": "s"})
	if again := ask(t, h, "POST", chatPath, chatOf("hi"), keyed); again.Body != first.Body || h.Inbound(t) != 1 {
		t.Errorf("got %s, first %s, %d messages", again.Body, first.Body, h.Inbound(t))
	}
}

// While there is no NATS a client is told so in the words of the API.
func TestBeforeTheHostHasNATS(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.HTTP.Listen = l.Addr().String()
	l.Close()
	cfg.NATS = bus.Config{URL: "nats://127.0.0.1:1"}
	h := host.New(host.Options{Config: cfg, Log: hosttest.Log(t)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	defer func() { cancel(); <-done }()
	var a answer
	waittest.Until(t, "it waits for NATS", func() bool {
		a, err = tryAt(bustest.Context(t), cfg.HTTP.Listen, "POST", chatPath, chatOf("hi"), nil)
		return err == nil && strings.Contains(a.Body, "waiting")
	})
	message, _ := a.get(t, "error", "message").(string)
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(message, "waiting for NATS") {
		t.Errorf("got %+v", a)
	}
}

// What an operator of NATS has written over the record of a request does not keep its repeats from
// being answered, and none is run twice.
func TestRecordThatNoHostHasWritten(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no JSON": "garbage", "empty": "", "a list": "[]", "another object": `{"a":1}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := doorstest.Start(t, "")
			keyed := header{"Idempotency-Key": "k", "Agent-Session": "s"}
			first := ask(t, h, "POST", chatPath, chatOf("hi"), keyed)
			kv, err := h.Client.JetStream().KeyValue(t.Context(), bus.RequestsBucket)
			if err != nil {
				t.Fatal(err)
			}
			keys, err := kv.Keys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				if _, err := kv.PutString(t.Context(), key, text); err != nil {
					t.Fatal(err)
				}
			}
			again := ask(t, h, "POST", chatPath, chatOf("hi"), keyed)
			if again.Status != 200 || again.content(t) != first.content(t) || h.Inbound(t) != 1 {
				t.Errorf("got %d %s, first %s, %d messages", again.Status, again.Body, first.Body, h.Inbound(t))
			}
			if third := ask(t, h, "POST", chatPath, chatOf("hi"), keyed); third.Body != again.Body {
				t.Errorf("the third time: got %s, want %s", third.Body, again.Body)
			}
			if a := ask(t, h, "POST", chatPath, chatOf("hello"), keyed); a.Status != 422 {
				t.Errorf("with another body: got %+v", a)
			}
		})
	}
}
