package plugins_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// posting takes its time with each message, until it is released.
type posting struct {
	plugins.Channel
	began   chan struct{} // holds one when a message is under way
	release chan struct{}
}

func newPosting(ch plugins.Channel) *posting {
	return &posting{Channel: ch, began: make(chan struct{}, 1), release: make(chan struct{})}
}

func (p *posting) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	select {
	case p.began <- struct{}{}:
	default:
	}
	select {
	case <-p.release:
		return p.Channel.Deliver(ctx, m)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// withoutKeys are a platform that takes the same message twice.
func withoutKeys() plugins.Limits {
	limits := chatLimits()
	limits.Idempotent = false
	return limits
}

// refuseNotes has NATS store no notes any more.
func refuseNotes(t *testing.T, b *bus.Bus) {
	t.Helper()
	stream, err := b.JS.Stream(t.Context(), "KV_"+bus.ChannelsBucket)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes, config.Discard = 1, jetstream.DiscardNew
	if _, err := b.JS.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// A host that stops lets the messages end that are under way, and keeps the account until
// then. One that the platform never answers is cut.
func TestStopLetsMessagesEnd(t *testing.T) {
	tests := map[string]struct {
		answers time.Duration // when the platform does; 0: never
		most    time.Duration // the stop takes
		want    int           // messages of the first host
	}{
		"at once":         {time.Millisecond, time.Second, 1},
		"as long as most": {30 * time.Second, 31 * time.Second, 1},
		"never":           {0, 40 * time.Second, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := startServer(t)
				platform := newMemory(withoutKeys())
				ch := newPosting(platform)
				watch := join(t, ns).bus
				bustest.Provision(t, watch.JS)
				first := join(t, ns).start(t, "host-1", ch)
				first.connected()
				second := join(t, ns).start(t, "host-2", platform)
				second.state(plugins.StateStandby)
				time.Sleep(time.Minute)
				send(t, watch, numbered("ana", 0, 2)...)
				<-ch.began
				if tt.answers > 0 {
					time.AfterFunc(tt.answers, func() { close(ch.release) })
				}
				began := time.Now()
				first.stop()
				if took := time.Since(began); took > tt.most {
					t.Errorf("the stop took %s, want %s at most", took, tt.most)
				}
				if n := len(platform.messages("ana")); n != tt.want {
					t.Errorf("the first host has delivered %d messages, want %d", n, tt.want)
				}
				settled(t, watch)
				if diff := cmp.Diff(wantTexts("ana", 2), platform.texts("ana")); diff != "" {
					t.Error(diff)
				}
				second.connected()
				platform.mu.Lock()
				defer platform.mu.Unlock()
				if platform.mostOpen != 1 {
					t.Errorf("%d connections at once, want 1", platform.mostOpen)
				}
			})
		})
	}
}

// A host that loses NATS while it stops disconnects before another host can have the
// account for long, whatever is under way.
func TestStopEndsWithoutNATS(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		f := newFleet(t, 0)
		time.Sleep(time.Minute)
		f.leaveUnderWay(1)
		stopped := make(chan struct{})
		go func() { defer close(stopped); f.first.stop() }()
		time.Sleep(time.Second)
		f.first.line.cut.Store(true)
		began := time.Now()
		<-stopped
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("the stop took %s longer", took)
		}
		settled(t, f.watch)
		if diff := cmp.Diff(wantTexts("ana", 1), f.platform.texts("ana")); diff != "" {
			t.Error(diff)
		}
	})
}
