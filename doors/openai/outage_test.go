//go:build long

package openai_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"
)

// A request whose message was taken gets its answer, though NATS is away when the door
// looks how far it is.
func TestNATSIsAwayMeanwhile(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	cfg := scripted(t, "rules: [{delay: 12s, text: late}]")
	cfg.NATS = bus.Config{URL: url}
	h := doorstest.Serve(t, cfg)
	whole := make(chan answer, 2)
	for path, body := range map[string]object{chatPath: chatOf("x"), "/v1/responses": {"model": "ana", "input": "x"}} {
		go func() {
			a, err := tryAt(bustest.Context(t), h.HTTP(), "POST", path, body, nil)
			if err != nil {
				t.Error(err)
			}
			whole <- a
		}()
	}
	first, rest := make(chan string, 1), make(chan answer, 1)
	go func() {
		defer close(rest)
		r, err := http.NewRequestWithContext(bustest.Context(t), http.MethodPost, "http://"+h.HTTP()+chatPath,
			strings.NewReader(`{"model":"ana","stream":true,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Error(err)
			return
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		body := bufio.NewReader(res.Body)
		line, _ := body.ReadString('\n')
		first <- line
		data, _ := io.ReadAll(body)
		rest <- answer{Body: string(data)}
	}()
	waittest.Until(t, "the messages are stored", func() bool { return h.Inbound(t) == 3 })
	server.Stop()
	if line := waittest.For(t, "the stream says something", first); line != ": keep-alive\n" {
		t.Errorf("got %q", line)
	}
	server.Start()
	if a := waittest.For(t, "the stream has ended", rest); a.streamed() != "late" {
		t.Errorf("got %s", a.Body)
	}
	for range cap(whole) {
		if a := waittest.For(t, "a whole answer", whole); !strings.Contains(a.Body, `"late"`) {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
}
