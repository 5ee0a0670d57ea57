package engine_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/pause"
	"agenthost/session"
	"agenthost/tools"
)

// What comes while an agent is paused neither joins nor stops the run that is under way, which can
// still be stopped. It is kept, and has its turn when the pause has ended.
func TestPausedDuringARun(t *testing.T) {
	t.Parallel()
	type steps struct {
		*world
		resume, release func()
	}
	ends := func(w steps) {
		w.release()
		w.expect("reply", "It says: paid")
		w.silent()
		w.resume()
	}
	tests := map[string]struct {
		queue session.Queue
		then  func(w steps)
	}{
		"steer, the run ends":     {session.Steer, ends},
		"interrupt, the run ends": {session.Interrupt, ends},
		"steer, the pause ends": {session.Steer, func(w steps) {
			w.resume()
			w.release()
			w.expect("reply", "It says: paid")
		}},
		"steer, the run is stopped": {session.Steer, func(w steps) {
			w.say("ana", bus.Inbound{Text: "/stop"})
			if out := w.hear(); out.InReplyTo != "1" || out.Error == nil || out.Error.Code != "cancelled" {
				w.t.Errorf("heard %+v", out)
			}
			w.silent()
			w.resume()
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			released := make(chan struct{})
			a := bot("ana", script(paying), has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
				select {
				case <-released:
					return tools.Result{Text: "paid"}, nil
				case <-ctx.Done():
					return tools.Result{}, ctx.Err()
				}
			}}))
			a.cfg.Session.Queue = tt.queue
			w := newWorld(t, a)
			w.say("ana", bus.Inbound{ID: "1", Text: "pay"})
			w.eventually("the tool is at work", func() bool { return w.stored(bus.SessionsStream) == 1 })
			pauses, agent := pause.NewStore(w.bus.JS), pause.Target{Agent: "ana"}
			if _, err := pauses.Begin(t.Context(), pause.Pause{Target: agent}); err != nil {
				t.Fatal(err)
			}
			w.eventually("paused", func() bool { return len(w.fleet.Pauses()) == 1 })
			w.say("ana", bus.Inbound{ID: "2", Text: "in euros"})
			w.eventually("kept in the log", func() bool { return w.stored(bus.SessionsStream) == 2 })
			tt.then(steps{w, func() {
				if err := pauses.End(t.Context(), agent); err != nil {
					t.Error(err)
				}
				w.eventually("resumed", func() bool { return len(w.fleet.Pauses()) == 0 })
			}, func() { close(released) }})
			w.expect("reply", "You said: in euros")
			w.settled()
			w.silent()
		})
	}
}

// What waited for the rate of its sender when the pause began stops the run when that has ended.
func TestPausedBehindTheRate(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("first")
		w.write("ana", "first")
		w.pass()
		w.urge("ana", "NOW")
		w.pass()
		pauses, agent := pause.NewStore(w.js), pause.Target{Agent: "ana"}
		if _, err := pauses.Begin(w.t.Context(), pause.Pause{Target: agent}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if said := w.said(); len(said) > 0 {
			t.Errorf("said %q during the pause", said)
		}
		if err := pauses.End(w.t.Context(), agent); err != nil {
			t.Fatal(err)
		}
		w.pass()
		w.model.free()
		w.pass()
		w.wantSaid("first=Stopped", "NOW=NOW")
	}, perMinute, patient)
}
