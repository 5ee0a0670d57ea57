package plugins_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// gated delivers while it is open.
type gated struct {
	plugins.Channel
	mu      sync.Mutex
	after   int // messages that are let through; then Deliver waits
	waiting chan struct{}
	breaks  chan struct{} // closed when those that wait fail; nil: they end with their context
}

func (g *gated) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	g.mu.Lock()
	g.after--
	wait := g.after < 0
	g.mu.Unlock()
	if wait {
		select {
		case g.waiting <- struct{}{}:
		default:
		}
		select {
		case <-g.breaks:
			return "", errors.New("connection reset")
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return g.Channel.Deliver(ctx, m)
}

// lingering is connected for longer than a dead host owns its account.
type lingering struct{ plugins.Channel }

func (l lingering) Run(ctx context.Context, in *plugins.Inbox) error {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(9*time.Second, cancel) })()
	return l.Channel.Run(late, in)
}

// pinOf is under which pin the account is owned.
func pinOf(info *jetstream.ConsumerInfo) string { return info.PriorityGroups[0].PinnedClientID }

// A reply that the platform has taken, and whose acknowledgement the server has forgotten,
// is not delivered again.
func TestSettledReplyComesAgain(t *testing.T) {
	t.Parallel()
	platform := newMemory(chatLimits())
	b := connect(t, "")
	ch := &holding{Channel: platform, to: "bob", release: make(chan struct{})}
	h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
	send(t, b, numbered("bob", 0, 1)...)
	send(t, b, numbered("ana", 0, 2)...)
	bustest.Eventually(t, "those of ana are acknowledged", func() bool { return consumerInfo(t, b).NumAckPending == 1 })
	before := consumerInfo(t, b).Delivered.Consumer
	if _, err := b.JS.ResetConsumer(t.Context(), bus.OutboundStream, consumer); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "all come again", func() bool {
		info := consumerInfo(t, b)
		return info.Delivered.Consumer != before && info.NumPending == 0 && info.NumAckPending == 1
	})
	close(ch.release)
	send(t, b, numbered("ana", 2, 1)...)
	settled(t, b)
	for to, n := range map[string]int{"ana": 3, "bob": 1} {
		if diff := cmp.Diff(wantTexts(to, n), platform.texts(to)); diff != "" {
			t.Errorf("to %s: %s", to, diff)
		}
	}
	if out := h.courier.Status().Out; out != 4 {
		t.Errorf("%d replies are counted as delivered, want 4", out)
	}
}

// holding holds what is for one person until it is released.
type holding struct {
	plugins.Channel
	to      string
	release chan struct{}
}

func (h *holding) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	if m.To == h.to {
		select {
		case <-h.release:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return h.Channel.Deliver(ctx, m)
}

func TestHostTakesItsAccountBack(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	platform := newMemory(chatLimits())
	first := startHost(t, connect(t, url), "host-1", platform, settings.Account{}).connected()
	first.bus.NC.Close()
	began := time.Now()
	startHost(t, connect(t, url), "host-1", platform, settings.Account{}).connected()
	t.Logf("connected %s later", time.Since(began))
}

// A short absence does not cost the connection to the platform.
func TestNATSRestarts(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	platform := newMemory(chatLimits())
	h := startHost(t, connect(t, url), "host-1", platform, settings.Account{}).connected()
	server.Restart()
	if err := h.bus.Ready(bustest.Context(t)); err != nil {
		t.Fatal(err)
	}
	send(t, h.bus, numbered("ana", 0, 3)...)
	settled(t, h.bus)
	if diff := cmp.Diff(wantTexts("ana", 3), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
	platform.mu.Lock()
	defer platform.mu.Unlock()
	if platform.logins != 1 {
		t.Errorf("logged in %d times, want once", platform.logins)
	}
}

func TestConsumerIsDeleted(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(chatLimits())
	h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
	if err := b.JS.DeleteConsumer(t.Context(), "AGENT_OUTBOUND", consumer); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the consumer is there again", func() bool {
		_, err := b.JS.Consumer(t.Context(), "AGENT_OUTBOUND", consumer)
		return err == nil && h.courier.Status().State == plugins.StateConnected
	})
	send(t, b, numbered("ana", 0, 1)...)
	settled(t, b)
	if diff := cmp.Diff(wantTexts("ana", 1), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

// A program's own consumer of the same name becomes the account's, where it stood.
func TestConsumerOfAProgram(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	old, err := b.JS.CreateConsumer(t.Context(), "AGENT_OUTBOUND", jetstream.ConsumerConfig{
		Durable: consumer, FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, b, numbered("ana", 0, 3)...)
	first, err := old.Next()
	if err == nil {
		err = first.DoubleAck(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	platform := newMemory(chatLimits())
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	settled(t, b)
	if diff := cmp.Diff(wantTexts("ana", 3)[1:], platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

// ordered notes in which order messages go out, whatever their chats.
type ordered struct {
	plugins.Channel
	mu    sync.Mutex
	texts []string
}

func (o *ordered) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	o.mu.Lock()
	o.texts = append(o.texts, m.Text)
	o.mu.Unlock()
	return o.Channel.Deliver(ctx, m)
}
