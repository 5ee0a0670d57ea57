package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/heartbeat"
	"agenthost/internal/texts"

	"github.com/nats-io/nats.go/jetstream"
)

var chat = bus.Origin{Agent: "ana", Session: "demo/dm/bea", Subject: "plugin.outbound.demo", To: "bea"}

func reminder(id, when, text string) heartbeat.Reminder {
	return heartbeat.Reminder{ID: id, Chat: chat, By: "bea", When: when, Text: text}
}

func TestReminderFires(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.keeper().Run)
		r := &heartbeat.Reminders{JS: w.JS}
		for range 2 { // the same request, made again after a crash
			if _, err := r.Make(t.Context(), reminder("1", "in 20m", "call mum")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Make(t.Context(), reminder("3", "in 20m", "call\x00dad")); err != nil { // as a model may say it
			t.Fatal(err)
		}
		if _, err := r.Make(t.Context(), reminder("2", "every 1h", "drink")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Hour + time.Minute)
		fired := w.routes("ana")
		texts := map[string]int{}
		for _, f := range fired {
			_, text, _ := strings.Cut(f.Text, "now: ")
			texts[text]++
			if *f.Origin != chat || f.Kind != bus.RouteSchedule {
				t.Errorf("got %+v", f)
			}
		}
		if fmt.Sprint(texts) != "map[call mum:1 call\uFFFDdad:1 drink:3]" {
			t.Errorf("reminded of %v", texts)
		}
	})
}

// What a reminder says can change while it is held: a person who is erased is taken out of it.
func TestReminderThatIsReworded(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.keeper().Run)
		r := &heartbeat.Reminders{JS: w.JS}
		e, err := r.Make(t.Context(), reminder("1", "in 20m", "call mum"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if len(w.armed()) != 1 {
			t.Fatalf("armed: %v", w.armed())
		}
		kv, err := w.JS.KeyValue(t.Context(), bus.SchedulesBucket)
		if err != nil {
			t.Fatal(err)
		}
		entry, err := kv.Get(t.Context(), e.Key())
		if err != nil {
			t.Fatal(err)
		}
		reworded := strings.Replace(string(entry.Value()), "call mum", "[erased]", 1)
		if _, err := kv.Update(t.Context(), e.Key(), []byte(reworded), entry.Revision()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		rec, err := w.reader.Last(t.Context(), bus.SchedulesStream, e.Subject())
		if err != nil || !strings.Contains(string(rec.Data), "[erased]") || w.armed()[e.Subject()] != 1 {
			t.Errorf("held: %s of %v, %v", rec.Data, w.armed(), err)
		}
		time.Sleep(time.Hour)
		if fired := w.routes("ana"); len(fired) != 1 || !strings.HasSuffix(fired[0].Text, "now: [erased]") {
			t.Errorf("fired: %+v", fired)
		}
	})
}

func TestReminderCommand(t *testing.T) {
	w := newWorld(t)
	r := &heartbeat.Reminders{JS: w.JS, Zones: map[string]string{"ana": "Europe/Paris"}}
	said := func(id, text string) string {
		t.Helper()
		return r.Command(t.Context(), texts.Book{}, id, "bea", chat, text)
	}
	if got := said("1", " 2099-12-24 18:00 light the candles"); got != "Noted for 2099-12-24 18:00 CET (4aa3dqhvfk)." && !strings.HasPrefix(got, "Noted for 2099-12-24 18:00 CET (") {
		t.Errorf("got %q", got)
	}
	list := said("2", "list")
	if !strings.HasPrefix(list, "2099-12-24 18:00 CET (") || !strings.HasSuffix(list, "): light the candles") {
		t.Errorf("list %q", list)
	}
	_, id, _ := strings.Cut(list, "(")
	id, _, _ = strings.Cut(id, ")")
	other := chat
	other.Session = "demo/dm/eve"
	if got := r.Command(t.Context(), texts.Book{}, "3", "eve", other, "cancel "+id); !strings.HasPrefix(got, "Not cancelled") {
		t.Errorf("another's: %q", got)
	}
	if got := said("4", "cancel "+id); got != "Cancelled." {
		t.Errorf("cancel: %q", got)
	}
	if got := said("5", "list"); got != "There are no reminders here." {
		t.Errorf("list %q", got)
	}
	for text, want := range map[string]string{
		"":                 "Say when and what",
		"soon buy milk":    "Not noted: want \"in 20m\"",
		"in 20m":           "Not noted: a reminder needs a text",
		"every 10s go":     "at least 1m between",
		"2020-01-01 08:00": "Not noted",
	} {
		if got := said("x", text); !strings.Contains(got, want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// What the command answers is in the language of the agent, its reasons included.
func TestReminderCommandInGerman(t *testing.T) {
	w := newWorld(t)
	r := &heartbeat.Reminders{JS: w.JS}
	book := texts.New("de", nil)
	notNoted := func(key string, values ...string) string {
		return book.Say("remind_not_noted", "reason", book.Say(key, values...))
	}
	if got, want := r.Command(t.Context(), book, "list", "bea", chat, "list"), book.Say("remind_none"); got != want {
		t.Errorf("no reminders: got %q, want %q", got, want)
	}
	for text, want := range map[string]string{
		"":                              book.Say("remind_usage"),
		"cancel abc":                    book.Say("remind_not_cancelled", "reason", book.Say("remind_unknown")),
		"soon buy milk":                 notNoted("remind_when"),
		"in 20m":                        notNoted("remind_no_text"),
		"every 10s go":                  notNoted("remind_too_often", "when", "every 10s", "span", "1m"),
		"2020-01-01 08:00 go":           notNoted("remind_past", "when", "2020-01-01 08:00"),
		"2099-12-24 18:00 Kerzen":       book.Say("remind_noted", "when", "2099-12-24 18:00 UTC ("),
		"cron 0 0 1 1 * Prosit Neujahr": " und dann cron 0 0 1 1 *",
	} {
		got := r.Command(t.Context(), book, text, "bea", chat, text)
		if start, _, _ := strings.Cut(want, "(."); !strings.Contains(got, start) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReminderLimits(t *testing.T) {
	w := newWorld(t)
	r := &heartbeat.Reminders{JS: w.JS}
	kv, err := w.JS.KeyValue(t.Context(), bus.SchedulesBucket)
	if err != nil {
		t.Fatal(err)
	}
	for i := range heartbeat.MaxReminders {
		if _, err := kv.Put(t.Context(), fmt.Sprint("ana.remind-", i), []byte(`{"agent":"ana","source":"reminder"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Make(t.Context(), reminder("1", "in 1h", "x")); err == nil || !strings.Contains(err.Error(), "cancel some") {
		t.Errorf("one too many: %v", err)
	}
	homeless := reminder("2", "in 1h", "x")
	homeless.Chat = bus.Origin{Agent: "bob"}
	if _, err := r.Make(t.Context(), homeless); err == nil {
		t.Error("a reminder without a chat is made")
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	w.run(w.keeper(every(time.Hour)).Run)
	r := &heartbeat.Reminders{JS: w.JS}
	e, err := r.Make(t.Context(), reminder("1", "in 1h", "x"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are armed", func() bool { return len(w.armed()) == 2 })
	if err := heartbeat.Cancel(t.Context(), w.JS, "ana", e.Name); err != nil {
		t.Fatal(err)
	}
	if err := heartbeat.Cancel(t.Context(), w.JS, "ana", e.Name); !errors.Is(err, heartbeat.ErrNoSchedule) {
		t.Errorf("twice: %v", err)
	}
	if err := heartbeat.Cancel(t.Context(), w.JS, "ana", "often"); !errors.Is(err, heartbeat.ErrFromConfig) {
		t.Errorf("of the configuration: %v", err)
	}
	if len(w.armed()) != 1 {
		t.Errorf("armed: %v", w.armed())
	}
}

// A host may arm what is cancelled meanwhile: it does not fire.
func TestFiringOfACancelledReminderIsTakenBack(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		r := &heartbeat.Reminders{JS: w.JS}
		made, err := r.Make(t.Context(), reminder("1", "in 20m", "call"))
		if err != nil {
			t.Fatal(err)
		}
		if armed, err := w.keeper().Arm(t.Context(), made, time.Now()); !armed || err != nil || len(w.armed()) != 1 {
			t.Fatalf("while it is there: got %v, %v, armed %v", armed, err, w.armed())
		}
		if err := heartbeat.Cancel(t.Context(), w.JS, made.Agent, made.Name); err != nil {
			t.Fatal(err)
		}
		if armed, err := w.keeper().Arm(t.Context(), made, time.Now()); armed || err != nil || len(w.armed()) != 0 {
			t.Errorf("got %v, %v, armed %v", armed, err, w.armed())
		}
	})
}

// A cancellation that NATS breaks off says so, and can be repeated: what is cancelled then does
// not fire.
func TestCancelAgainAfterAFailure(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.keeper().Run)
		r := &heartbeat.Reminders{JS: w.JS}
		made, err := r.Make(t.Context(), reminder("1", "in 20m", "call"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := heartbeat.Cancel(t.Context(), purgeless{w.JS}, made.Agent, made.Name); err == nil {
			t.Error("no error where the stream cannot be purged")
		}
		if err := heartbeat.Cancel(t.Context(), w.JS, made.Agent, made.Name); err != nil {
			t.Errorf("the second time: %v", err)
		}
		time.Sleep(time.Hour)
		if fired := w.routes(made.Agent); len(fired) > 0 {
			t.Errorf("it fired: %+v", fired)
		}
	})
}

// A purgeless JetStream fails to purge streams.
type purgeless struct{ jetstream.JetStream }

func (p purgeless) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := p.JetStream.Stream(ctx, name)
	return purgelessStream{stream}, err
}

type purgelessStream struct{ jetstream.Stream }

func (purgelessStream) Purge(context.Context, ...jetstream.StreamPurgeOpt) error {
	return context.DeadlineExceeded
}
