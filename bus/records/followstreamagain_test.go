package records_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A stream that is deleted and made again counts from 1 again, and is read from there.
func TestFollowAStreamThatIsMadeAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		fill := func(texts ...string) {
			time.Sleep(time.Millisecond) // else it is as old as the one before
			if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				if _, err := b.JS.Publish(t.Context(), "s", []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill("1", "2", "3")
		heard := make(chan string, 100)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- records.FollowStream(ctx, b.JS, records.Following{
				Stream: "S", Log: zerolog.Nop(), MadeAgain: func() { heard <- "made again" },
				Take: func(m jetstream.Msg, _ *jetstream.MsgMetadata) error {
					heard <- string(m.Data())
					return nil
				},
			})
		}()
		hear := func(want ...string) {
			t.Helper()
			within := time.After(5 * time.Minute) // on a fake clock
			for _, text := range want {
				select {
				case got := <-heard:
					if got != text {
						t.Errorf("heard %s, want %s", got, text)
					}
				case <-within:
					t.Fatalf("%s is not heard", text)
				}
			}
		}
		hear("1", "2", "3")
		if err := b.JS.DeleteStream(t.Context(), "S"); err != nil {
			t.Fatal(err)
		}
		fill("new 1", "new 2")
		hear("made again", "new 1", "new 2")
		if _, err := b.JS.Publish(t.Context(), "s", []byte("later")); err != nil {
			t.Fatal(err)
		}
		hear("later")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
