package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// spentBefore writes what an agent has spent on a day.
func (w *world) spentBefore(agent string, day time.Time, s agents.Spend) {
	w.t.Helper()
	kv, err := w.bus.JS.KeyValue(w.t.Context(), bus.SpendBucket)
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := kv.Put(w.t.Context(), agent+"."+day.UTC().Format(time.DateOnly), data); err != nil {
		w.t.Fatal(err)
	}
}

// thisMonth is a day of this month before today and one of the month before; ok is
// false on the first of a month, which has no day before.
func thisMonth() (in, out time.Time, ok bool) {
	now := time.Now().UTC()
	first := now.AddDate(0, 0, 1-now.Day())
	return first, first.AddDate(0, 0, -1), now.Day() > 1
}

// A month's budget counts its days, those of other hosts and what is reserved
// included, over a restart.
func TestBudgetOfAMonth(t *testing.T) {
	t.Parallel()
	ana := bot("ana", budget(agents.Budget{Month: 3, Alert: []float64{}}))
	w := newWorld(t, ana)
	in, out, some := thisMonth()
	w.spentBefore("ana", out, agents.Spend{Spent: 100 * dollar})
	calls := 3
	if some {
		calls = 1
		w.spentBefore("ana", in, agents.Spend{Spent: dollar, Hosts: map[string]agents.Share{"other": {Reserved: dollar}}})
	}
	for range calls {
		w.say("ana", bus.Inbound{Text: "one"})
		w.expect("reply", "You said: one")
	}
	w.settled()
	w.stop()
	w.start(ana)
	events := w.events("budget")
	for range 2 {
		w.say("ana", bus.Inbound{From: "eve", Text: "two"})
		if out := w.expect("error", "My budget for this month is used up."); out.Error.Code != "budget_exceeded" {
			t.Errorf("got %+v", out)
		}
	}
	if e := exceeded(t, events); e.Span != "month" || e.Limit != 3*dollar || e.Spent < 3*dollar {
		t.Errorf("got %+v", e)
	}
	w.settled()
	if len(events) > 0 {
		t.Errorf("told again: %s", (<-events).Data)
	}
	want := int64(calls) * dollar
	if some {
		want += dollar
	}
	if got, err := agents.SpentInMonth(t.Context(), w.bus.JS, "ana", time.Now()); err != nil || got < want || got > want+dollar/100 {
		t.Errorf("got %d and %v, want about %d", got, err, want)
	}
}

// A person's budget is that person's: another goes on, and so does the agent.
func TestBudgetOfAPerson(t *testing.T) {
	t.Parallel()
	ana := bot("ana", budget(agents.Budget{PeerDay: 1}))
	w := newWorld(t, ana)
	w.say("ana", bus.Inbound{Text: "one"})
	w.expect("reply", "You said: one")
	w.settled()
	for range 2 {
		w.say("ana", bus.Inbound{Text: "two", Group: true, Chat: "c"})
		if out := w.expect("error", "Your budget for today is used up. Please try again tomorrow."); out.Error.Code != "budget_exceeded" {
			t.Errorf("got %+v", out)
		}
		w.settled()
		w.stop()
		w.start(ana)
	}
	w.say("ana", bus.Inbound{From: "eve", Text: "three"})
	w.expect("reply", "You said: three")
	w.eventually("all is booked", func() bool { return w.spentToday("ana") >= 2*dollar })
	w.send("agent.route.ana", bus.Route{ID: "t", Kind: "event", Text: "four"})
	w.eventually("an event counts for no person", func() bool { return w.spentToday("ana") >= 3*dollar })
}

// A person may ask for more than their share with the agent's approvers, and a
// call for them reserves what the day leaves.
func TestBudgetOfAPersonAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{PeerDay: 1, Day: 100, OnExceed: "ask"})))
	w.say("ana", bus.Inbound{Text: "one"})
	w.expect("reply", "You said: one")
	w.say("ana", bus.Inbound{Text: "two"})
	asked := w.expect("approval", "I have spent $1.00 of the $1.00 that I may spend for one person today. May I go on and spend more? Only the operator can allow this. Reply deny to end it here.")
	w.settled()
	w.approve(asked.Call, "")
	w.expect("reply", "You said: two")
	w.eventually("nothing is reserved", func() bool { return len(w.spend("ana").Hosts["test"].Runs) == 0 })
}

// What died with its host counts for the person, too.
func TestBudgetOfAPersonCountsTheDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{PeerDay: 1})))
	for host, until := range map[string]time.Time{"test": time.Now().Add(time.Hour), "other": time.Now().Add(-time.Minute)} {
		from := "of " + host
		data, err := json.Marshal(agents.Spend{Hosts: map[string]agents.Share{host: {
			Reserved: dollar, Runs: agents.Reservations{"r": dollar}, Until: until, Write: "earlier.1",
		}}})
		if err != nil {
			t.Fatal(err)
		}
		kv, err := w.bus.JS.KeyValue(t.Context(), bus.SpendBucket)
		if err != nil {
			t.Fatal(err)
		}
		key := "ana." + time.Now().UTC().Format(time.DateOnly) + "." + session.SID("ana", session.Key("ana/"+from))
		if _, err := kv.Put(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
		w.say("ana", bus.Inbound{From: from, Text: "one"})
		w.expect("error", "Your budget for today is used up. Please try again tomorrow.")
	}
}

// Calls at once for one person do not go beyond the budget.
func TestBudgetOfAPersonIsNotOverdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", budget(agents.Budget{PeerDay: 3})))
	const messages = 8
	for i := range messages {
		w.say("ana", bus.Inbound{Text: "go", Group: true, Chat: fmt.Sprint("chat", i)})
	}
	replies := 0
	for range messages {
		if out := w.hear(); out.Kind == run.KindReply {
			replies++
		} else if out.Error == nil || out.Error.Code != "budget_exceeded" {
			t.Errorf("got %+v", out)
		}
	}
	if replies != 3 {
		t.Errorf("%d calls were made, want 3", replies)
	}
}

type alertEvent struct {
	Span         string
	Share        float64
	Spent, Limit int64
	Peer         string
}

// alerts are the events that have come by now.
func readAlerts(t *testing.T, events chan *nats.Msg) (list []alertEvent) {
	t.Helper()
	for len(events) > 0 {
		e := alertEvent{}
		if err := json.Unmarshal((<-events).Data, &e); err != nil {
			t.Fatal(err)
		}
		e.Spent /= dollar // the input costs a little, too
		list = append(list, e)
	}
	return list
}

// Each share of a budget that is spent is told once, as an event and to the
// approvers, over a restart and by whichever host.
func TestBudgetAlerts(t *testing.T) {
	t.Parallel()
	ana := bot("ana", budget(agents.Budget{Day: 5, PeerDay: 100, Alert: []float64{0.8, 0.2}}))
	ana.cfg.Approvers = []string{"telegram.sales/42"}
	w := newWorld(t, ana)
	events := w.events("budget_alert")
	day := time.Now().UTC().Format(time.DateOnly)
	say := func(notice string) {
		t.Helper()
		w.say("ana", bus.Inbound{Text: "one"})
		want := map[string]string{run.KindReply: "You said: one"}
		if notice != "" {
			want[run.KindNotice] = notice + " of its $5.00 for " + day
		}
		for range len(want) { // in whatever order
			out := w.hear()
			if text := want[out.Kind]; text == "" || !strings.Contains(out.Text, text) {
				t.Fatalf("heard %+v, want %q", out, want)
			}
			if out.Kind == run.KindNotice && (out.To != "42" || out.Session != "telegram.sales/dm/42" || out.Agent != "ana") {
				t.Errorf("got %+v", out)
			}
			delete(want, out.Kind)
		}
		w.settled()
	}
	say("Budget alert: ana has spent $1.00")
	say("")
	w.stop()
	w.start(ana)
	say("")
	w.silent()
	say("Budget alert: ana has spent $4.00")
	w.stop()
	w.silent()
	want := []alertEvent{{"day", 0.2, 1, 5 * dollar, ""}, {"day", 0.8, 4, 5 * dollar, ""}}
	if diff := cmp.Diff(want, readAlerts(t, events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A call that passes several shares at once gives all events and one notice; a
// month and a person have alerts of their own, a person's without a notice.
func TestBudgetAlertsByDefault(t *testing.T) {
	t.Parallel()
	ana := bot("ana", budget(agents.Budget{Month: 1.1, PeerDay: 1.1}))
	ana.cfg.Approvers = []string{"web/7"}
	w := newWorld(t, ana)
	events := w.events("budget_alert")
	w.say("ana", bus.Inbound{Text: "one"})
	heard := map[string]string{}
	for range 2 {
		out := w.hear()
		heard[out.Kind] = out.Text
	}
	month := time.Now().UTC().Format("2006-01")
	if want := "Budget alert: ana has spent $1.00 of its $1.10 for " + month + " (91 %)."; heard["notice"] != want {
		t.Errorf("heard %q, want %q", heard, want)
	}
	w.settled()
	w.stop()
	got := map[string]int{}
	for _, e := range readAlerts(t, events) {
		got[fmt.Sprint(e.Span, " ", e.Share, " ", e.Peer)]++
	}
	if diff := cmp.Diff(map[string]int{"month 0.5 ": 1, "month 0.8 ": 1, "peer_day 0.5 ana/ana": 1, "peer_day 0.8 ana/ana": 1}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.silent()
}
