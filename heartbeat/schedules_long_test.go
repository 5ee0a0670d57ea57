//go:build long

package heartbeat_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"
)

// While everything is down nothing fires; then it does once, or not at all.
func TestMissed(t *testing.T) {
	for missed, want := range map[string]int{"": 1, heartbeat.MissedOnce: 1, heartbeat.MissedSkip: 0} {
		t.Run(missed, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				cfg := bustest.Config(t)
				w, end := newWorldIn(t, cfg)
				s := every(24 * time.Hour)
				s.Missed = missed
				stop := w.run(w.keeper(s).Run)
				time.Sleep(time.Minute)
				stop()
				end()
				time.Sleep(80 * time.Hour) // over three firings
				w, _ = newWorldIn(t, cfg)
				w.run(w.keeper(s).Run)
				time.Sleep(time.Minute)
				fired := w.routes("ana")
				made := 0
				for _, r := range fired { // one that is to be skipped says so, and who hears it late drops it
					if r.Missed != heartbeat.MissedSkip {
						made++
					}
				}
				if made != want || len(ids(fired)) > 1 {
					t.Errorf("after three missed firings: %+v", fired)
				}
				before := len(ids(fired))
				time.Sleep(24 * time.Hour)
				if n := len(ids(w.routes("ana"))); n != before+1 {
					t.Errorf("%d firings a day later, want one more than %d", n, before)
				}
			})
		})
	}
}

func TestAt(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		cfg := bustest.Config(t)
		w, end := newWorldIn(t, cfg)
		at := heartbeat.Schedule{Name: "once", Prompt: "now", Spec: heartbeat.Spec{
			At: time.Now().In(paris(t)).Add(2 * time.Hour).Format("2006-01-02 15:04"), Timezone: "Europe/Paris",
		}, To: heartbeat.Address{Channel: "telegram", Instance: "sales", Chat: "1"}}
		w.run(w.keeper(at).Run)
		time.Sleep(time.Hour)
		if n := len(w.routes("ana")); n != 0 {
			t.Fatalf("%d firings an hour before", n)
		}
		end()
		time.Sleep(10 * time.Hour)
		w, _ = newWorldIn(t, cfg)
		w.run(w.keeper(at).Run)
		time.Sleep(time.Hour)
		fired := w.routes("ana")
		if len(ids(fired)) != 1 {
			t.Fatalf("got %+v, want the one firing that was missed", fired)
		}
		want := bus.Origin{Agent: "ana", Subject: "plugin.outbound.telegram.sales", Chat: "1"}
		if *fired[0].Origin != want {
			t.Errorf("origin %+v", fired[0].Origin)
		}
		if list, err := heartbeat.Entries(t.Context(), w.JS); err != nil || len(list) != 0 {
			t.Errorf("what has fired for good is still listed: %+v %v", list, err)
		}
		stop := w.run(w.keeper(at).Run) // it stands in the configuration still
		time.Sleep(time.Minute)
		stop()
		if n := len(ids(w.routes("ana"))); n != 1 {
			t.Errorf("%d firings", n)
		}
	})
}
