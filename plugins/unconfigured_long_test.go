//go:build long

package plugins_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins/settings"
)

// The consumer of an account is removed an hour after the last host that had the account,
// and not before the replies that wait have expired. An account that comes back gets
// what was said meanwhile. Not in parallel: it runs on a fake clock.
func TestConsumerOfAnUnconfiguredAccountIsRemoved(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
		send(t, b, numbered("ana", 0, 2)...)
		settled(t, b)
		var configured atomic.Bool
		c := cleaner(t, h, &configured)
		time.Sleep(70 * time.Minute)
		if !hasConsumer(t, b) || len(c.Found()) > 0 {
			t.Fatalf("a host serves the account: found %v", c.Found())
		}

		configured.Store(true) // on a host that cannot be built, say
		h.stop()
		send(t, b, numbered("bob", 0, 1)...)
		time.Sleep(70 * time.Minute)
		if !hasConsumer(t, b) || len(c.Found()) > 0 {
			t.Fatalf("another host has the account: found %v", c.Found())
		}

		configured.Store(false)
		time.Sleep(70 * time.Minute)
		if found := c.Found(); !hasConsumer(t, b) || len(found) != 1 || found[0].String() != "test.one" || found[0].Waiting != 1 {
			t.Fatalf("a reply waits: found %v", found)
		}
		time.Sleep(72 * time.Hour)
		if hasConsumer(t, b) || len(c.Found()) > 0 {
			t.Fatalf("nothing waits any more: found %v", c.Found())
		}

		send(t, b, numbered("ana", 2, 2)...)
		startHost(t, b, "host-1", platform, settings.Account{}).connected()
		settled(t, b)
		if diff := cmp.Diff(wantTexts("ana", 4), platform.texts("ana")); diff != "" {
			t.Error(diff)
		}
		if texts := platform.texts("bob"); len(texts) > 0 {
			t.Errorf("what has expired was delivered: %q", texts)
		}
	})
}
