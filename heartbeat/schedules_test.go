package heartbeat_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/heartbeat"

	"github.com/nats-io/nats.go/jetstream"
)

func (w *world) keeper(schedules ...heartbeat.Schedule) *heartbeat.Keeper {
	return &heartbeat.Keeper{
		JS: w.JS, Publisher: w.publisher, Reader: w.reader, Log: w.Log,
		Schedules: map[string][]heartbeat.Schedule{"ana": schedules},
	}
}

func every(d time.Duration) heartbeat.Schedule {
	return heartbeat.Schedule{Name: "often", Spec: heartbeat.Spec{Every: d}, Prompt: "do it"}
}

// armed are the subjects of the firings that the server holds.
func (w *world) armed() map[string]uint64 {
	w.t.Helper()
	info, err := w.stream(bus.SchedulesStream).Info(w.t.Context(), jetstream.WithSubjectFilter("agent.schedule.>"))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.State.Subjects
}

// Two hosts, one of which comes and goes: every firing comes, and comes once.
func TestEverySecondOnTwoHosts(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.keeper(every(time.Second)).Run)
		began := time.Now()
		for range 10 {
			stop := w.run(w.keeper(every(time.Second)).Run)
			time.Sleep(2500 * time.Millisecond)
			stop()
			time.Sleep(500 * time.Millisecond)
		}
		fired := w.routes("ana")
		// A host that comes at the very moment of a firing arms it once more: it
		// has the id of the first, so the session drops it.
		fired = slices.CompactFunc(fired, func(a, b bus.Route) bool { return a.ID == b.ID })
		for i, r := range fired {
			want := began.Truncate(time.Second).Add(time.Duration(i+1) * time.Second).UTC()
			if !r.Due.Equal(want) || r.ID != "schedule:often@"+want.Format(time.RFC3339) || r.From != "often" || r.Text != "do it" {
				t.Fatalf("firing %d: got %+v, want that of %v", i, r, want)
			}
		}
		if n := len(fired); n < 29 || n > 30 {
			t.Errorf("%d firings in 30 s", n)
		}
	})
}

// Schedules come and go with the configuration; reminders stay.
func TestConfigChanges(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		reminders := &heartbeat.Reminders{JS: w.JS}
		if _, err := reminders.Make(t.Context(), reminder("1", "tomorrow 9:00", "stand-up")); err != nil {
			t.Fatal(err)
		}
		run := func(schedules ...heartbeat.Schedule) {
			stop := w.run(w.keeper(schedules...).Run)
			time.Sleep(time.Second)
			stop()
		}
		nightly := heartbeat.Schedule{Name: "nightly", Spec: heartbeat.Spec{Cron: "0 3 * * *", Timezone: "Europe/Paris"}, Prompt: "count"}
		run(every(time.Hour), nightly)
		if len(w.armed()) != 3 {
			t.Fatalf("armed: %v", w.armed())
		}
		nightly.Prompt = "count all"
		nightly.Cron = "30 3 * * *"
		run(nightly)
		held := read[bus.Route](w, bus.SchedulesStream, "agent.schedule.ana.nightly")
		if len(w.armed()) != 2 || len(held) != 1 || held[0].Text != "count all" || held[0].Due.In(paris(t)).Format("15:04") != "03:30" {
			t.Errorf("armed: %v, of it %+v", w.armed(), held)
		}
		nightly.Prompt = "count them"
		run(nightly)
		if held = read[bus.Route](w, bus.SchedulesStream, "agent.schedule.ana.nightly"); held[0].Text != "count them" {
			t.Errorf("held: %+v", held)
		}
		run()
		list, err := heartbeat.Entries(t.Context(), w.JS)
		if err != nil || len(list) != 1 || list[0].Source != heartbeat.FromReminder || len(w.armed()) != 1 {
			t.Errorf("left: %+v %v, armed %v", list, err, w.armed())
		}
	})
}

func TestManySchedulesAtTheSameMoment(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var all []heartbeat.Schedule
		for i := range manyAtOnce {
			s := every(time.Minute)
			s.Name = fmt.Sprint("s", i)
			all = append(all, s)
		}
		w.run(w.keeper(all...).Run)
		time.Sleep(5*time.Minute + 10*time.Second)
		fired := w.routes("ana")
		if len(fired) != 5*len(all) || len(ids(fired)) != len(fired) {
			t.Errorf("%d firings with %d ids, want %d", len(fired), len(ids(fired)), 5*len(all))
		}
	})
}

func paris(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// A firing that was missed is made up for after a restart, also when the server does not
// hold it: the host died before it could have it held.
func TestMissedFiringThatNothingHolds(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		stop := w.run(w.keeper(every(time.Hour)).Run)
		time.Sleep(time.Second)
		held := read[bus.Route](w, bus.SchedulesStream, "agent.schedule.ana.often")
		stop()
		if len(held) != 1 {
			t.Fatalf("held: got %+v, want one firing", held)
		}
		if err := w.stream(bus.SchedulesStream).Purge(t.Context(), jetstream.WithPurgeSubject("agent.schedule.>")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		w.run(w.keeper(every(time.Hour)).Run)
		time.Sleep(10 * time.Second)
		if fired := ids(w.routes("ana")); fired[held[0].ID] != 1 || len(fired) != 1 {
			t.Errorf("fired: got %v, want %s", fired, held[0].ID)
		}
	})
}

// A firing that is due and that the server has yet to make is not replaced by the next:
// it would be lost.
func TestFiringThatIsDueIsNotReplaced(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		const subject, id = "agent.schedule.ana.often", "schedule:often@before"
		msg, err := bus.NewMessage(subject, bus.Route{ID: id, Kind: bus.RouteSchedule, From: "often", Text: "do it", Due: time.Now().Add(-time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		msg.Header.Set(jetstream.ScheduleHeader, "@at "+time.Now().Add(10*time.Second).UTC().Format(time.RFC3339))
		msg.Header.Set(jetstream.ScheduleTargetHeader, "agent.due.ana")
		if _, err := w.JS.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		w.run(w.keeper(every(time.Hour)).Run)
		time.Sleep(20 * time.Second)
		if fired := ids(w.routes("ana")); fired[id] != 1 || len(fired) != 1 {
			t.Errorf("fired: got %v, want the one that was due", fired)
		}
		if held := read[bus.Route](w, bus.SchedulesStream, subject); len(held) != 1 || held[0].ID == id {
			t.Errorf("held: got %+v, want the next", held)
		}
	})
}

// An operator who purges the stream, say to be rid of firings that wait, loses those that wait, and
// none that are yet to come.
func TestFiringsAfterAPurge(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		reminders := &heartbeat.Reminders{JS: w.JS}
		made, err := reminders.Make(t.Context(), reminder("1", "in 2h", "call"))
		if err != nil {
			t.Fatal(err)
		}
		w.run(w.keeper(every(time.Hour)).Run)
		time.Sleep(70 * time.Minute)
		if err := w.stream(bus.SchedulesStream).Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		purged := time.Now()
		time.Sleep(70 * time.Minute)
		fired := ids(w.routes("ana"))
		if len(w.armed()) == 0 {
			t.Error("nothing is armed")
		}
		for _, want := range []string{
			"schedule:" + made.Name + "@" + made.Next.Format(time.RFC3339),
			"schedule:often@" + purged.Truncate(time.Hour).Add(time.Hour).UTC().Format(time.RFC3339),
		} {
			if fired[want] != 1 {
				t.Errorf("%s fired %d times; all: %v", want, fired[want], fired)
			}
		}
	})
}

// What the bucket has lost, as by a purge of its stream, is written again by a host that knows it, and a
// schedule of the configuration also when it was deleted. All fire on. A reminder that was deleted does not.
func TestSchedulesOutliveTheirBucket(t *testing.T) {
	for name, harm := range map[string]func(w *world, reminders ...string) error{
		"emptied": func(w *world, _ ...string) error { return w.stream("KV_" + bus.SchedulesBucket).Purge(w.t.Context()) },
		"made again": func(w *world, _ ...string) error {
			return errors.Join(w.JS.DeleteKeyValue(w.t.Context(), bus.SchedulesBucket), streams.Provision(w.t.Context(), w.JS, 1, 1, w.Log))
		},
		"deleted": func(w *world, keys ...string) error {
			kv, err := w.JS.KeyValue(w.t.Context(), bus.SchedulesBucket)
			for _, key := range append(keys, "ana.often") {
				err = errors.Join(err, kv.Delete(w.t.Context(), key))
			}
			return err
		},
		"garbage": func(w *world, keys ...string) error {
			kv, err := w.JS.KeyValue(w.t.Context(), bus.SchedulesBucket)
			for _, key := range append(keys, "ana.often") {
				_, put := kv.PutString(w.t.Context(), key, "garbage")
				err = errors.Join(err, put)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				w := newWorld(t)
				reminders := &heartbeat.Reminders{JS: w.JS}
				made, err := reminders.Make(t.Context(), reminder("1", "every 2h", "call"))
				if err != nil {
					t.Fatal(err)
				}
				w.run(w.keeper(every(time.Hour)).Run)
				time.Sleep(10 * time.Minute)
				if err := harm(w, made.Key()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Hour)
				fired := map[string]int{}
				for _, r := range w.routes("ana") {
					fired[r.From]++
				}
				if fired["often"] < 9 || fired["often"] > 11 {
					t.Errorf("the schedule has fired %d times in 10 hours", fired["often"])
				}
				if n := fired[made.Name]; name == "deleted" && n > 1 || name != "deleted" && n < 4 {
					t.Errorf("the reminder has fired %d times", n)
				}
			})
		})
	}
}
