package budget_test

import (
	"testing"
	"time"

	"agenthost/agents/internal/budget"
	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
)

// A month is its days up to now, with what is reserved in them; a day that cannot be read counts
// as nothing.
func TestMonth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kv, err := w.bus.JS.KeyValue(t.Context(), bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	for key, record := range map[string]string{
		"ana.2026-02-28": `{"spent":1000}`, "bo.2026-03-14": `{"spent":1}`, "ana.2026-03-01": `{"spent":30,"hosts":{"two":{"reserved":20}}}`,
		"ana.2026-03-02": `garbage`, "bo.status": `{"spent":1}`, "ana.2026-03-14": `{"spent":20}`, "ana.2026-03-16": `{"spent":2000}`, "ana.2026-03-14.eve": `{"spent":4000}`,
	} {
		if _, err := kv.PutString(t.Context(), key, record); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 3, 16, 0, 30, 0, 0, time.FixedZone("to the east", 3600)) // in UTC it is the 15th
	l := w.ledger("one", func() error { return nil })
	limits := budget.Limits{Month: 100, Day: 1000}
	over, err := l.Hold(budget.Attempt{Run: "run", Input: 31, Most: 31}, now).Admit(t.Context(), limits)
	if diff := cmp.Diff(&budget.ExceededError{Span: budget.OfMonth, Spent: 70, Limit: 100}, over); diff != "" || err != nil {
		t.Errorf("error %v; %s", err, diff)
	}
	over, err = l.Hold(budget.Attempt{Run: "run", Input: 26, Most: 26}, now).Admit(t.Context(), budget.Limits{Month: 100, Day: 25})
	if diff := cmp.Diff(&budget.ExceededError{Span: budget.OfDay, Limit: 25}, over); diff != "" || err != nil {
		t.Errorf("a day that leaves less: error %v; %s", err, diff)
	}
	h := l.Hold(budget.Attempt{Run: "run", Input: 30, Most: 30}, now)
	if over, err := h.Admit(t.Context(), limits); over != nil || err != nil {
		t.Errorf("what fits is refused: %v, %v", over, err)
	}
	h.Settle(0)
	l.Close()

	if sum, err := budget.SpentInMonth(t.Context(), w.bus.JS, "ana", now); sum != 50 || err != nil {
		t.Errorf("got %d, %v, want 50", sum, err)
	}
	var got []string
	list, err := budget.SpentSince(t.Context(), w.bus.JS, now.AddDate(0, 0, -13))
	for _, s := range list {
		got = append(got, s.Day+" "+s.Agent)
	}
	if diff := cmp.Diff([]string{"2026-03-14 ana", "2026-03-14 bo", "2026-03-15 ana", "2026-03-16 ana"}, got); diff != "" || err != nil {
		t.Errorf("error %v; %s", err, diff)
	}
}

// A budget that is exceeded is reported once in its day or month.
func TestReport(t *testing.T) {
	t.Parallel()
	l := budget.NewLedger(budget.Options{Agent: "ana"})
	day, month := &budget.ExceededError{Span: budget.OfDay}, &budget.ExceededError{Span: budget.OfMonth}
	eve, bo := &budget.ExceededError{Span: budget.OfPeer, Peer: "web/eve"}, &budget.ExceededError{Span: budget.OfPeer, Peer: "web/bo"}
	today := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	for i, one := range []struct {
		e    *budget.ExceededError
		at   time.Time
		want bool
	}{
		{day, today, true},
		{day, today, false},
		{month, today, true},
		{month, today, false},
		{eve, today, true},
		{bo, today, true},
		{eve, today, false},
		{day, today.AddDate(0, 0, 1), true},
		{eve, today.AddDate(0, 0, 1), true},
		{month, today.AddDate(0, 0, 1), false},
		{month, today.AddDate(0, 1, 0), true},
	} {
		if got := l.Report(one.e, one.at); got != one.want {
			t.Errorf("%d, %s on %s: got %t, want %t", i, one.e.Span, one.at.Format(time.DateOnly), got, one.want)
		}
	}
}
