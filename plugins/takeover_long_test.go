//go:build long

package plugins_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

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
