package heartbeat_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"

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

// Heartbeats go by the clock of NATS too, so that hosts make the same ticks, and go on when
// that clock is set.
func TestBeatsGoByTheClockOfNATS(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		ahead, set := &setClock{}, &setClock{}
		ahead.by.Store(int64(-1003 * time.Millisecond))
		cfg := heartbeat.Config{Interval: 30 * time.Second, Prompt: "look"}
		for host, by := range map[string]*setClock{"ahead": ahead, "set": set} {
			p := w.pulse(host, cfg, "ana")
			p.JS = moving{w.JS, by}
			w.run(p.Run)
		}
		beats, err := w.NC.SubscribeSync("agent.events.ana.heartbeat")
		if err != nil {
			t.Fatal(err)
		}
		counted := func(within time.Duration) (n int) {
			time.Sleep(within)
			for ; ; n++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				_, err := beats.NextMsgWithContext(ctx)
				cancel()
				if err != nil {
					return n
				}
			}
		}
		if n := counted(10 * time.Minute); n < 38 || n > 41 {
			t.Errorf("%d beats of two hosts in ten minutes", n)
		}
		for _, r := range w.routes("ana") {
			if phase := r.Due.Sub(w.routes("ana")[0].Due) % (30 * time.Second); phase != 0 {
				t.Errorf("a tick is %v off", phase)
			}
		}
		set.by.Store(int64(-6 * time.Hour))
		ahead.by.Store(int64(-6 * time.Hour))
		counted(2 * time.Minute) // until both have heard
		if n := counted(10 * time.Minute); n < 36 || n > 42 {
			t.Errorf("%d beats of two hosts in ten minutes after the clock was set back", n)
		}
		set.by.Store(int64(6 * time.Hour))
		ahead.by.Store(int64(6 * time.Hour))
		counted(2 * time.Minute)
		if n := counted(10 * time.Minute); n < 36 || n > 42 {
			t.Errorf("%d beats of two hosts in ten minutes after the clock was set forward", n)
		}
		if err := beats.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	})
}

// A moving JetStream says another time than the host's clock, by what may change.
type moving struct {
	jetstream.JetStream
	by *setClock
}

type setClock struct{ by atomic.Int64 }

func (m moving) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return skewed{m.JetStream, time.Duration(m.by.by.Load())}.Stream(ctx, name)
}

// A reminder is due by the clock of NATS, which fires it.
func TestRemindersGoByTheClockOfNATS(t *testing.T) {
	w := newWorld(t)
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		r := &heartbeat.Reminders{JS: skewed{w.JS, by}}
		chat := bus.Origin{Agent: "ana", Session: "web/dm/bea", Subject: "plugin.outbound.web", To: "bea"}
		e, err := r.Make(t.Context(), heartbeat.Reminder{ID: by.String(), Chat: chat, When: "in 20m", Text: "call"})
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(e.Next) - by - 20*time.Minute; off.Abs() > time.Minute {
			t.Errorf("where NATS is %v off the host, a reminder in 20m is %v late", by, off)
		}
	}
}

// A machine that sleeps keeps its timers waiting, those of its NATS as well: a firing comes at
// its time also where hours of the wait were slept. NATS tells the time then, and fires by a
// timer that has hours left.
func TestFiringsAfterAMachineHasSlept(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		slept := &setClock{}
		began := time.Now()
		due := began.Add(3 * time.Hour).Truncate(time.Hour).UTC()
		for range 2 {
			k := w.keeper(heartbeat.Schedule{Name: "morning", Spec: heartbeat.Spec{Cron: due.Format("4 15 * * *")}, Prompt: "good morning"})
			k.JS = moving{w.JS, slept}
			w.run(k.Run)
		}
		time.Sleep(time.Minute)
		slept.by.Store(int64(time.Until(due) - 5*time.Minute))
		time.Sleep(4 * time.Minute)
		if n := len(w.routes("ana")); n > 0 {
			t.Errorf("%d firings before the time", n)
		}
		time.Sleep(2 * time.Minute)
		fired := w.routes("ana")
		if len(fired) != 1 || !fired[0].Due.Equal(due) || fired[0].Text != "good morning" {
			t.Errorf("a minute after the time: got %+v", fired)
		}
		time.Sleep(time.Until(due) + time.Minute) // when the timer of NATS would fire
		if n := len(w.routes("ana")); n != 1 {
			t.Errorf("%d firings in the end", n)
		}
	})
}

// What was put off until a time to come, by a clock that was ahead, is due as it would have been
// once that is right, and also when a host starts later.
func TestFiringsAfterTheClockWasAhead(t *testing.T) {
	for name, restarted := range map[string]bool{"a host that runs": false, "one that starts later": true} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				w := newWorld(t)
				ahead := &setClock{}
				ahead.by.Store(int64(48 * time.Hour))
				keeper := func() *heartbeat.Keeper {
					k := w.keeper(every(15 * time.Minute))
					k.JS = moving{w.JS, ahead}
					return k
				}
				stop := w.run(keeper().Run)
				time.Sleep(time.Hour)
				if restarted {
					stop()
				}
				ahead.by.Store(0)
				if restarted {
					w.run(keeper().Run)
				}
				right := time.Now()
				time.Sleep(time.Hour)
				n := 0
				for _, r := range w.routes("ana") {
					if r.Due.After(right) && r.Due.Before(right.Add(2*time.Hour)) {
						n++
					}
				}
				if n < 3 || n > 4 {
					t.Errorf("%d firings in the hour in which the clock was right", n)
				}
			})
		})
	}
}
