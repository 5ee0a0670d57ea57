package heartbeat_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go/jetstream"
)

// A skewed JetStream says another time than the host's clock, by that much.
type skewed struct {
	jetstream.JetStream
	by time.Duration
}

func (s skewed) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := s.JetStream.Stream(ctx, name)
	return skewedStream{stream, s.by}, err
}

type skewedStream struct {
	jetstream.Stream
	by time.Duration
}

func (s skewedStream) CachedInfo() *jetstream.StreamInfo {
	info := *s.Stream.CachedInfo()
	info.TimeStamp = info.TimeStamp.Add(s.by)
	return &info
}

// Where the clock of a host and that of NATS differ, schedules go by that of NATS: each
// firing comes, none is taken for missed, and none has to wait for the host's clock.
func TestFiringsGoByTheClockOfNATS(t *testing.T) {
	for name, by := range map[string]time.Duration{"host ahead": -10 * time.Minute, "the same": 0, "host a little behind": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				w := newWorld(t)
				k := w.keeper(every(time.Minute))
				k.JS = skewed{w.JS, by}
				began := time.Now().Add(by)
				w.run(k.Run)
				time.Sleep(5*time.Minute + 2*time.Second)
				fired := w.routes("ana")
				if len(fired) < 4 || len(fired) > 6 {
					t.Errorf("%d firings in five minutes", len(fired))
				}
				for i, r := range fired {
					if want := began.Truncate(time.Minute).Add(time.Duration(i+1) * time.Minute).UTC(); !r.Due.Equal(want) {
						t.Errorf("firing %d: got that of %s, want that of %s", i, r.Due, want)
					}
				}
			})
		})
	}
}
