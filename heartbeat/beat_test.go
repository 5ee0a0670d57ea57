package heartbeat_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go"
)

func (w *world) pulse(host string, cfg heartbeat.Config, agents ...string) *heartbeat.Pulse {
	p := &heartbeat.Pulse{Host: host, NC: w.NC, Publisher: w.publisher}
	for _, agent := range agents {
		p.Targets = append(p.Targets, heartbeat.Target{Agent: agent, Config: cfg, Status: func() heartbeat.Status {
			return heartbeat.Status{Sessions: 3, InFlight: 2, Queued: 1, Phase: heartbeat.PhaseWorking}
		}})
	}
	return p
}

// A minute of beats every second, of which the stream keeps those of three
// intervals.
func TestCadence(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		sub, err := w.NC.SubscribeSync("agent.events.ana.heartbeat")
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(w.pulse("h1", heartbeat.Config{Interval: time.Second}, "ana").Run)
		time.Sleep(time.Minute)
		stop()
		n, _, err := sub.Pending()
		if err := errors.Join(err, sub.Unsubscribe()); err != nil {
			t.Fatal(err)
		}
		if n < 59 || n > 60 {
			t.Errorf("%d beats in a minute", n)
		}
		kept := read[heartbeat.Beat](w, bus.EventsStream, "agent.events.ana.heartbeat")
		if len(kept) == 0 || len(kept) > 4 {
			t.Fatalf("the stream keeps %d beats, want those of three intervals", len(kept))
		}
		for i, b := range kept[1:] {
			if d := b.At.Sub(kept[i].At); d != time.Second || b.Seq != kept[i].Seq+1 {
				t.Errorf("beat %d came %v after beat %d", b.Seq, d, kept[i].Seq)
			}
		}
		last := kept[len(kept)-1]
		if last.Agent != "ana" || last.Host != "h1" || last.Interval != 1 || last.Uptime < 58 || last.Sessions != 3 ||
			last.InFlight != 2 || last.Queued != 1 || last.Phase != heartbeat.PhaseWorking {
			t.Errorf("beat %+v", last)
		}
	})
}

// Two hosts make the same ticks, and the stream keeps each once.
func TestTicksOfTwoHosts(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		cfg := heartbeat.Config{Interval: time.Second, Prompt: "look"}
		w.run(w.pulse("h1", cfg, "ana", "bob").Run)
		w.run(w.pulse("h2", cfg, "ana", "bob").Run)
		time.Sleep(20 * time.Second)
		for _, agent := range []string{"ana", "bob"} {
			ticks := w.routes(agent)
			if len(ticks) < 19 || len(ticks) > 20 || len(ids(ticks)) != len(ticks) {
				t.Errorf("%s has %d ticks with %d ids after 20 s", agent, len(ticks), len(ids(ticks)))
			}
			for i, r := range ticks[1:] {
				if d := r.Due.Sub(ticks[i].Due); d != time.Second || r.Text != "look" || r.Kind != bus.RouteHeartbeat {
					t.Errorf("tick %+v %v after the one before", r, d)
				}
			}
		}
	})
}

// Agents do not all beat at the same moment.
func TestBeatsAreSpread(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var agents []string
		for i := range 100 {
			agents = append(agents, "agent"+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
		moments, seen := map[time.Time]bool{}, map[string]bool{}
		sub, err := w.NC.Subscribe("agent.events.*.heartbeat", func(msg *nats.Msg) {
			moments[time.Now().Truncate(100*time.Millisecond)] = true
			seen[msg.Subject] = true
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(w.pulse("h1", heartbeat.Config{Interval: 10 * time.Second}, agents...).Run)
		time.Sleep(10 * time.Second)
		stop()
		synctest.Wait()
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
		if len(seen) != len(agents) || len(moments) < 30 {
			t.Errorf("%d agents beat in %d tenths of a second", len(seen), len(moments))
		}
	})
}

// What NATS cannot store does not pile up: of the ticks of an hour one waits, and they go on
// when NATS is back.
func TestTicksWhileNATSStoresNothing(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.pulse("h1", heartbeat.Config{Interval: time.Second, Prompt: "look"}, "ana").Run)
		time.Sleep(10 * time.Second)
		config := w.stream(bus.SchedulesStream).CachedInfo().Config
		if err := w.JS.DeleteStream(t.Context(), bus.SchedulesStream); err != nil {
			t.Fatal(err)
		}
		away := time.Now()
		time.Sleep(time.Hour)
		back := time.Now()
		if _, err := w.JS.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		meanwhile, since := 0, 0
		for _, r := range w.routes("ana") {
			switch {
			case r.Due.After(back):
				since++
			case r.Due.After(away):
				meanwhile++
			}
		}
		if meanwhile > 1 {
			t.Errorf("%d ticks of the hour in which NATS stored nothing", meanwhile)
		}
		if since < 5 {
			t.Errorf("%d ticks in the ten seconds after it", since)
		}
	})
}
