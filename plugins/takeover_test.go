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

func TestOneOwnerAndTakeover(t *testing.T) {
	t.Parallel()
	tests := map[string]func(h *runner){
		"stopped": func(h *runner) { h.stop() },
		"killed":  func(h *runner) { h.bus.NC.Close() },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := bustest.Server(t)
			platform := newMemory(chatLimits())
			g := &gated{Channel: platform, after: 20, waiting: make(chan struct{}, 1), breaks: make(chan struct{})}
			watch := connect(t, url)
			first := startHost(t, connect(t, url), "host-1", g, settings.Account{}).connected()
			second := startHost(t, connect(t, url), "host-2", platform, settings.Account{})
			second.state(plugins.StateStandby)
			if s := first.courier.Status(); !s.Owner || second.courier.Status().Owner {
				t.Errorf("owners: %+v and %+v", s, second.courier.Status())
			}
			send(t, watch, numbered("ana", 0, 20)...)
			send(t, watch, numbered("bob", 0, 20)...)
			<-g.waiting
			began, pin := time.Now(), pinOf(consumerInfo(t, watch))
			if name == "stopped" { // what is under way would hold it
				close(g.breaks)
			}
			end(first)
			if name == "stopped" && pinOf(consumerInfo(t, watch)) == pin {
				t.Error("the host that has stopped still holds the account")
			}
			send(t, watch, numbered("ana", 20, 10)...)
			second.connected()
			t.Logf("connected %s later", time.Since(began))
			settled(t, watch)
			t.Logf("delivered %s later", time.Since(began))
			for to, n := range map[string]int{"ana": 30, "bob": 20} {
				if diff := cmp.Diff(wantTexts(to, n), platform.texts(to)); diff != "" {
					t.Errorf("to %s: %s", to, diff)
				}
			}
			platform.mu.Lock()
			defer platform.mu.Unlock()
			if platform.mostOpen != 1 && name == "stopped" {
				t.Errorf("%d connections at once, want 1", platform.mostOpen)
			}
		})
	}
}

// A host whose connection is slow to end, as that of a program that does not heed its
// stop, holds the account until it has ended.
func TestNobodyConnectsBeforeTheOwnerHasEnded(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	platform := newMemory(chatLimits())
	first := startHost(t, connect(t, url), "host-1", lingering{platform}, settings.Account{}).connected()
	second := startHost(t, connect(t, url), "host-2", platform, settings.Account{})
	second.state(plugins.StateStandby)
	watch := connect(t, url)
	send(t, watch, numbered("ana", 0, 5)...)
	settled(t, watch)
	stopped := make(chan struct{})
	go func() { defer close(stopped); first.stop() }()
	send(t, watch, numbered("ana", 5, 5)...)
	second.connected()
	settled(t, watch)
	<-stopped
	if diff := cmp.Diff(wantTexts("ana", 10), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
	platform.mu.Lock()
	defer platform.mu.Unlock()
	if platform.mostOpen != 1 {
		t.Errorf("%d connections at once, want 1", platform.mostOpen)
	}
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

func TestNATSAway(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	platform := newMemory(chatLimits())
	h := startHost(t, connect(t, url), "host-1", platform, settings.Account{}).connected()
	send(t, h.bus, numbered("ana", 0, 3)...)
	settled(t, h.bus)
	server.Stop()
	bustest.Eventually(t, "the inbox is not ready", func() bool { return !h.courier.Inbox().Ready() })
	taken := make(chan error, 1)
	go func() {
		taken <- h.courier.Inbox().Take(t.Context(), plugins.Received{ID: "away", From: "ana", Text: "hello"})
	}()
	h.state(plugins.StateNoNATS)
	if n := platform.connections(); n != 0 {
		t.Errorf("%d connections to the platform while NATS is away for long", n)
	}
	server.Start()
	if err := <-taken; err != nil {
		t.Errorf("Take: %v", err)
	}
	h.connected()
	send(t, h.bus, numbered("ana", 3, 3)...)
	settled(t, h.bus)
	if diff := cmp.Diff(wantTexts("ana", 6), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
	if n := len(stored(t, h.bus, "AGENT_INBOUND", inbound)); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
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

// After a crash the chats wait in which the last owner may have left something. A reply to
// another chat does not: it goes out before the server delivers again what was under way.
func TestOnlyChatsUnderWayWaitAfterACrash(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	platform := newMemory(chatLimits())
	g := &gated{Channel: platform, waiting: make(chan struct{}, 1)}
	o := &ordered{Channel: platform}
	watch := connect(t, url)
	first := startHost(t, connect(t, url), "host-1", g, settings.Account{}).connected()
	send(t, watch, numbered("ana", 0, 3)...)
	<-g.waiting
	first.bus.NC.Close()
	send(t, watch, numbered("bob", 0, 1)...)
	send(t, watch, numbered("ana", 3, 2)...)
	send(t, watch, numbered("bob", 1, 4)...)
	startHost(t, connect(t, url), "host-2", o, settings.Account{}).connected()
	settled(t, watch)
	for _, to := range []string{"ana", "bob"} {
		if diff := cmp.Diff(wantTexts(to, 5), platform.texts(to)); diff != "" {
			t.Errorf("to %s (-want +got): %s", to, diff)
		}
	}
	t.Logf("delivered in the order %q", o.texts)
}
