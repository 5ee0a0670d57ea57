package heartbeat_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const putBackWords = "this host has put it back; take it out there"

// deleteOften deletes the schedule of every by hand.
func (w *world) deleteOften() {
	w.t.Helper()
	kv, err := w.JS.KeyValue(w.t.Context(), bus.SchedulesBucket)
	if err == nil {
		err = kv.Delete(w.t.Context(), "ana.often")
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) hasOften() bool {
	w.t.Helper()
	list, err := heartbeat.Entries(w.t.Context(), w.JS)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list) == 1 && list[0].Name == "often"
}

// Of several hosts one writes a deleted schedule again, and only that one says so.
func TestDeletedScheduleIsWrittenOnce(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var logged bustest.LogBuffer
		for range 3 {
			k := w.keeper(every(time.Hour))
			k.Log = zerolog.New(&logged)
			w.run(k.Run)
		}
		time.Sleep(time.Minute)
		w.deleteOften()
		time.Sleep(time.Minute)
		if n := strings.Count(logged.String(), putBackWords); n != 1 || !w.hasOften() {
			t.Errorf("logged %d times that it was put back, want once:\n%s", n, logged.String())
		}
	})
}

// A schedule whose time is past is not written again, and no host says that it was.
func TestDeletedScheduleOfThePast(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var logged bustest.LogBuffer
		k := w.keeper(heartbeat.Schedule{Name: "often", Prompt: "now", Spec: heartbeat.Spec{At: time.Now().Add(time.Minute).Format(time.RFC3339)}})
		k.Log = zerolog.New(&logged)
		w.run(k.Run)
		time.Sleep(time.Hour)
		w.deleteOften()
		time.Sleep(time.Minute)
		if strings.Contains(logged.String(), putBackWords) || w.hasOften() {
			t.Errorf("logged %s", logged.String())
		}
	})
}

// A host that could not write a deleted schedule again tries until it can, unless hosts have it not in
// their configuration any more: they purge it.
func TestDeletedScheduleIsWrittenAfterFailures(t *testing.T) {
	for name, purged := range map[string]bool{"deleted": false, "purged meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				w := newWorld(t)
				var logged bustest.LogBuffer
				js := &bucketless{JetStream: w.JS}
				k := w.keeper(every(time.Hour))
				k.JS, k.Log = js, zerolog.New(&logged)
				w.run(k.Run)
				time.Sleep(time.Minute)
				js.away.Store(true)
				w.deleteOften()
				time.Sleep(10 * time.Second)
				if purged {
					kv, err := w.JS.KeyValue(t.Context(), bus.SchedulesBucket)
					if err == nil {
						err = kv.Purge(t.Context(), "ana.often")
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				js.away.Store(false)
				time.Sleep(10 * time.Second)
				if strings.Contains(logged.String(), putBackWords) == purged || w.hasOften() == purged {
					t.Errorf("it is there: %t; logged %s", w.hasOften(), logged.String())
				}
				if !strings.Contains(logged.String(), "failed; retrying") {
					t.Errorf("the failure is not logged: %s", logged.String())
				}
			})
		})
	}
}

// A bucketless JetStream finds no bucket while it is away.
type bucketless struct {
	jetstream.JetStream
	away atomic.Bool
}

func (b *bucketless) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	if b.away.Load() {
		return nil, errors.New("away")
	}
	return b.JetStream.KeyValue(ctx, bucket)
}
