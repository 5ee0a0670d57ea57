package bustest_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) { bustest.VerifyNoLeaks(m) }

// TestBubble is the canary of Bubble: an ack wait and an expiry of hours, on
// the server's side, pass on the fake clock.
func TestBubble(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		began := time.Now()
		js := bustest.Open(t).JS
		stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: "S", Subjects: []string{"s"}, MaxAge: 10 * time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		cons, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: 3 * time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s", []byte("m")); err != nil {
			t.Fatal(err)
		}
		for delivery := range uint64(3) {
			msg, err := cons.Next(jetstream.FetchMaxWait(4 * time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if meta, err := msg.Metadata(); err != nil || meta.NumDelivered != delivery+1 {
				t.Fatalf("delivery: got %+v, %v, want number %d", meta, err, delivery+1)
			}
		}
		if took := time.Since(began); took < 6*time.Hour || took > 7*time.Hour {
			t.Errorf("three deliveries took %s on the fake clock, want the 6 hours of two ack waits", took)
		}
		time.Sleep(5 * time.Hour)
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Msgs != 0 {
			t.Errorf("messages after max age: got %d, want 0", info.State.Msgs)
		}
	})
}

func TestServerKeepsItsPortAndStore(t *testing.T) {
	url, srv := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S"}); err != nil {
		t.Fatal(err)
	}
	back := b.NC.StatusChanged(nats.CONNECTED)
	srv.Restart()
	<-back
	if _, err := b.JS.Stream(t.Context(), "S"); err != nil {
		t.Errorf("stream after a restart: %v", err)
	}
}
