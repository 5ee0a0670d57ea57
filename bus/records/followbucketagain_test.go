package records_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A bucket that is deleted and made again counts from 1 again. What is written there then is
// heard, and a mirror hears that what was there before is gone.
func TestFollowABucketThatIsMadeAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		follow func(context.Context, jetstream.JetStream, string, zerolog.Logger, func(jetstream.KeyValueEntry), func())
		want   []string
	}{
		"follow": {records.Follow, []string{"new KeyValuePutOp"}},
		"mirror": {records.Mirror, []string{"old KeyValueDeleteOp", "new KeyValuePutOp"}},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := bustest.Open(t)
				bucket := func() jetstream.KeyValue {
					kv, err := b.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
					if err != nil {
						t.Fatal(err)
					}
					return kv
				}
				put := func(kv jetstream.KeyValue, keys ...string) {
					for _, key := range keys {
						if _, err := kv.PutString(t.Context(), key, "x"); err != nil {
							t.Fatal(err)
						}
					}
				}
				kv := bucket()
				put(kv, "gone", "old", "old", "old")
				if err := kv.Delete(t.Context(), "gone"); err != nil {
					t.Fatal(err)
				}
				heard := make(chan string, 100)
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					tt.follow(ctx, b.JS, "B", zerolog.Nop(), func(e jetstream.KeyValueEntry) { heard <- e.Key() + " " + e.Operation().String() }, func() { heard <- "whole" })
				}()
				for got := ""; got != "whole"; got = <-heard {
				}
				if err := b.JS.DeleteKeyValue(t.Context(), "B"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) // else it is as old as the other one
				put(bucket(), "new")
				var got []string
				within := time.After(5 * time.Minute) // on a fake clock
				for !slices.Contains(got, tt.want[len(tt.want)-1]) {
					select {
					case one := <-heard:
						got = append(got, one)
					case <-within:
						t.Fatalf("heard only %q", got)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("heard %q, want %q", got, tt.want)
				}
				stop()
				<-done
			})
		})
	}
}
