package plugins_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// cleaner runs a Cleaner in a fleet that has the account or not.
func cleaner(t *testing.T, h *runner, configured *atomic.Bool) *plugins.Cleaner {
	t.Helper()
	c := &plugins.Cleaner{
		JS: h.bus.JS, Publisher: h.publisher, Log: h.bus.Log,
		Configured: func(context.Context) (map[string]bool, error) {
			return map[string]bool{"test.one": configured.Load()}, nil
		},
	}
	background(t, func(ctx context.Context) error {
		tick := time.NewTicker(plugins.SweepEvery)
		defer tick.Stop()
		for {
			c.Sweep(ctx)
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
	return c
}

func hasConsumer(t *testing.T, b *bus.Bus) bool {
	t.Helper()
	_, err := b.JS.Consumer(t.Context(), bus.OutboundStream, consumer)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// An account that is removed and back within an hour has lost nothing, and gets nothing
// twice.
func TestAccountIsBackWithinAnHour(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
		send(t, b, numbered("ana", 0, 2)...)
		settled(t, b)
		h.stop()
		c := cleaner(t, h, &atomic.Bool{})
		time.Sleep(40 * time.Minute)
		if len(c.Found()) != 1 {
			t.Errorf("found %v", c.Found())
		}
		h = startHost(t, b, "host-1", platform, settings.Account{}).connected()
		time.Sleep(40 * time.Minute)
		h.stop()
		time.Sleep(40 * time.Minute)
		if !hasConsumer(t, b) {
			t.Error("the hour is counted from before the account was back")
		}
	})
}

// What is said while the consumer is gone is delivered once it is there again.
func TestRepliesWhileTheConsumerIsGone(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(chatLimits())
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	send(t, b, numbered("ana", 0, 2)...)
	settled(t, b)
	if err := b.JS.DeleteConsumer(t.Context(), bus.OutboundStream, consumer); err != nil {
		t.Fatal(err)
	}
	send(t, b, numbered("ana", 2, 2)...)
	bustest.Eventually(t, "all are delivered", func() bool { return len(platform.texts("ana")) >= 4 })
	if diff := cmp.Diff(wantTexts("ana", 4), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

// A stream that was deleted and made again counts from 1 again: what is in it is delivered
// from the first on, and not behind where the one before had come to.
func TestRepliesOfAStreamThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(chatLimits())
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	send(t, b, numbered("ana", 0, 5)...)
	settled(t, b)
	stream, err := b.JS.Stream(t.Context(), bus.OutboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.JS.DeleteStream(t.Context(), bus.OutboundStream); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.CreateStream(t.Context(), stream.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	send(t, b, numbered("ana", 5, 2)...)
	bustest.Eventually(t, "all are delivered", func() bool { return len(platform.texts("ana")) >= 7 })
	if diff := cmp.Diff(wantTexts("ana", 7), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

// The timing of this version counts for a consumer that another one has made.
func TestConsumerOfAnotherVersion(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	claims := bus.OwnerPrefix + "test.one"
	_, err := b.JS.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{
		Durable: consumer, FilterSubjects: []string{claims, subject}, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute,
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{"owner"}, PinnedTTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	startHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{}).connected()
	config := consumerInfo(t, b).Config
	if config.PinnedTTL >= 10*time.Second || config.AckWait >= 10*time.Second {
		t.Errorf("a dead host keeps the account for %v and its replies for %v", config.PinnedTTL, config.AckWait)
	}
	if !slices.Contains(config.FilterSubjects, claims) {
		t.Errorf("filters %q", config.FilterSubjects)
	}
}
