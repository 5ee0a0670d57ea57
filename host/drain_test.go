package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/hooks"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Each request to drain a host is answered: every host says what is wrong with one that
// cannot be read, and that there is no such host, but not while another one has that name.
// A run keeps green from its end until blue has heard of the request.
func TestDrainIsAnswered(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	start := func(name string, own ...hooks.Hook) {
		cfg := hosttest.Demo(t)
		cfg.NATS = bus.Config{URL: url}
		cfg.NATS.Embedded.Store = t.TempDir()
		hosttest.Serve(t, host.New(host.Options{Config: cfg, Name: name, Log: bustest.Log(t), Hooks: own, Version: "0.1.0", Grace: waittest.Within}))
	}
	nc := bustest.OpenConfig(t, bus.Config{URL: url}).NC
	begun, end := make(chan error, 1), make(chan struct{})
	start("green", hooks.Hook{Point: hooks.BeforeMessage, Name: "hold", Options: hooks.Options{Timeout: waittest.Within}, Handler: func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
		begun <- nil
		select {
		case <-end:
		case <-ctx.Done():
		}
		return hooks.Outcome{}, nil
	}})
	if err := nc.Publish("plugin.inbound.demo", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := waittest.For(t, "green works", begun); err != nil {
		t.Fatal(err)
	}
	start("blue")
	answers := func(request string, n int) *nats.Subscription {
		t.Helper()
		sub, err := nc.SubscribeSync(nc.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest(client.DrainSubject, sub.Subject, []byte(request)); err != nil {
			t.Fatal(err)
		}
		bustest.Eventually(t, "both answer", func() bool {
			got, _, err := sub.Pending()
			return err != nil || got >= n
		})
		return sub
	}
	for request, code := range map[string]string{
		``: client.CodeBad, `{"host":`: client.CodeBad, `{"host":7}`: client.CodeBad,
		`{}`: client.CodeNotFound, `{"host":"zz"}`: client.CodeNotFound,
	} {
		sub := answers(request, 2)
		for range 2 {
			msg, err := sub.NextMsgWithContext(bustest.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := msg.Header.Get(micro.ErrorCodeHeader); got != code || msg.Header.Get(micro.ErrorHeader) == "" {
				t.Errorf("%s: got %v, want code %s", request, msg.Header, code)
			}
		}
	}
	sub := answers(`{"host":"green"}`, 1)
	msg, err := sub.NextMsgWithContext(bustest.Context(t))
	if err != nil || msg.Header.Get(micro.ErrorCodeHeader) != "" || string(msg.Data) != `{"ok":true}` {
		t.Errorf("got %+v, %v, want that green ends", msg, err)
	}
	last := answers(`{"host":"blue"}`, 1) // blue takes one after the other
	if msg, err := last.NextMsgWithContext(bustest.Context(t)); err != nil || string(msg.Data) != `{"ok":true}` {
		t.Errorf("got %+v, %v, want that blue ends", msg, err)
	}
	if n, _, err := sub.Pending(); n > 0 || err != nil {
		t.Errorf("got a second answer: %d, %v", n, err)
	}
	close(end)
	if err := client.New(nc, nil, client.Options{}).Left(t.Context(), "green"); err != nil {
		t.Fatal(err)
	}
}

// A drain is in the audit log once, with who asked for it: the host that ends writes it.
func TestAuditOfADrain(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	cfg := hosttest.Demo(t)
	cfg.NATS = bus.Config{URL: url}
	cfg.NATS.Embedded.Store = t.TempDir()
	hosttest.Serve(t, host.New(host.Options{Config: cfg, Name: "green", Log: bustest.Log(t), Version: "0.1.0", Grace: waittest.Within}))
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	c := client.New(b.NC, b.JS, client.Options{Door: bus.DoorCLI, By: "root"})
	if err := c.Drain(bustest.Context(t), "green"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range c.Audit(bustest.Context(t), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{e.Door, e.By, e.Action, e.Target}, " "))
	}
	if want := []string{"cli root drain green"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
