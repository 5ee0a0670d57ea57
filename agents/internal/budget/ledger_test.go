package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents/internal/budget"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const longTTL = time.Hour

// A world is a bus on which hosts spend.
type world struct {
	t   testing.TB
	bus *bus.Bus
}

func newWorld(t testing.TB) *world {
	t.Helper()
	b := bustest.Open(t)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), b.JS, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	return &world{t: t, bus: b}
}

// till is the ledger of ana on one host.
func (w *world) till(host string, ttl time.Duration) budget.Till {
	log := bustest.Log(w.t)
	return budget.NewTill(budget.Options{
		Agent: "ana", Host: host, JS: w.bus.JS, Reader: records.NewReader(w.bus.JS), Log: &log, TTL: ttl,
	})
}

// spentToday is what the record of an agent says.
func (w *world) spentToday(agent string) int64 {
	w.t.Helper()
	spent, err := budget.SpentToday(w.t.Context(), w.bus.JS, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return spent.Agents[agent]
}

// spend is the record of an agent for today.
func (w *world) spend(agent string) (s budget.Spend) {
	w.t.Helper()
	kv, err := w.bus.JS.KeyValue(w.t.Context(), bus.SpendBucket)
	if err != nil {
		w.t.Fatal(err)
	}
	entry, err := kv.Get(w.t.Context(), agent+"."+time.Now().UTC().Format(time.DateOnly))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return s
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return spendOf(w.t, entry.Value())
}

func spendOf(t testing.TB, data []byte) (s budget.Spend) {
	t.Helper()
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLedgerIsNotOverdrawn lets many calls at once, on two hosts, use a budget
// for half of them.
func TestLedgerIsNotOverdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts := []budget.Till{
		w.till("one", longTTL), w.till("two", longTTL),
	}
	const calls, cost, limit = 100, 7, 50 * 7
	var began, refused atomic.Int64
	var all sync.WaitGroup
	for i := range calls {
		till := hosts[i%2]
		all.Go(func() {
			ok, err := till.Reserve(t.Context(), 1, cost, limit)
			switch {
			case err != nil:
				t.Error(err)
			case ok:
				began.Add(1)
				till.Settle(cost, cost)
			default:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	for _, h := range hosts {
		h.Close()
	}
	if began.Load() != 50 || refused.Load() != 50 {
		t.Errorf("%d began and %d were refused, want 50 and 50", began.Load(), refused.Load())
	}
	if got := w.spentToday("ana"); got != limit {
		t.Errorf("%d is booked, want %d", got, limit)
	}
}

// today is the key of the record of ana.
func today() string { return "ana." + time.Now().UTC().Format(time.DateOnly) }

// A record that NATS has lost, as a server does whose disk is full, is written again as the
// host knows it.
func TestLedgerKeepsWhatNATSLoses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	till := w.till("one", longTTL)
	defer till.Close()
	till.Settle(0, 5)
	w.booked(5)
	stream, err := w.bus.JS.Stream(t.Context(), "KV_"+bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+bus.SpendBucket+"."+today())); err != nil {
		t.Fatal(err)
	}
	till.Settle(0, 7)
	w.booked(12)
}

// A record that an operator has deleted starts again at 0.
func TestLedgerRestartsWhenItsRecordIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	till := w.till("one", longTTL)
	defer till.Close()
	till.Settle(0, 5)
	w.booked(5)
	kv, err := w.bus.JS.KeyValue(t.Context(), bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), today()); err != nil {
		t.Fatal(err)
	}
	till.Settle(0, 7)
	w.booked(7)
}

// A record that an operator deletes or changes when all is spent counts for the next call, though a
// refusal writes nothing. What cannot be read then is as the host knows it.
func TestLedgerReadsTheRecordBeforeItRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	till := w.till("one", longTTL)
	defer till.Close()
	reserve := func(want bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
		defer cancel()
		if ok, err := till.Reserve(ctx, 5, 5, 10); ok != want || err != nil {
			t.Errorf("got %v, %v, want %v", ok, err, want)
		}
		if want {
			till.Settle(5, 5)
		}
	}
	refusedUntil := func(changed func() error) {
		t.Helper()
		reserve(false)
		if err := changed(); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the record counts as it is now", func() bool {
			ok, err := till.Reserve(t.Context(), 5, 5, 10)
			return ok && err == nil
		})
		till.Settle(5, 5)
	}
	kv, err := w.bus.JS.KeyValue(t.Context(), bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	reserve(true)
	reserve(true)
	w.booked(10)
	refusedUntil(func() error { return kv.Delete(t.Context(), today()) })
	w.booked(5)
	reserve(true)
	w.booked(10)
	refusedUntil(func() error { _, err := kv.Put(t.Context(), today(), []byte(`{"spent":1}`)); return err })
	w.booked(6)
	reserve(false)
	if err := w.bus.JS.DeleteKeyValue(t.Context(), bus.SpendBucket); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	waittest.Until(t, "what the host knows to be old", func() bool {
		reserve(false)
		return time.Since(began) > time.Second/2
	})
}

// A record that no host has written is written again as the host knows it: no call waits for it.
func TestLedgerReplacesARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	till := w.till("one", longTTL)
	defer till.Close()
	till.Settle(0, 5)
	w.booked(5)
	kv, err := w.bus.JS.KeyValue(t.Context(), bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	for i, garbage := range []string{"garbage", `{"spent":"much"}`, "[]"} {
		if _, err := kv.Put(t.Context(), today(), []byte(garbage)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
		defer cancel()
		if ok, err := till.Reserve(ctx, 1, 7, 100); !ok || err != nil {
			t.Fatalf("after %s: got %v, %v", garbage, ok, err)
		}
		till.Settle(7, 7)
		w.booked(5 + 7*int64(i+1))
	}
}

// booked waits until the record of ana says how much is spent.
func (w *world) booked(want int64) {
	w.t.Helper()
	waittest.Until(w.t, fmt.Sprintf("%d is booked", want), func() bool { return w.spend("ana").Spent == want })
}

// TestLedgerWaits has a call wait for one that may cost more than it does.
func TestLedgerWaits(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"for its own host": "one", "for another host": "two"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one := w.till("one", longTTL)
			elsewhere := one
			if other != "one" {
				elsewhere = w.till(other, longTTL)
			}
			if ok, err := elsewhere.Reserve(t.Context(), 1, 90, 100); !ok || err != nil {
				t.Fatalf("got %v, %v", ok, err)
			}
			short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if ok, err := one.Reserve(short, 1, 20, 100); ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, %v", ok, err)
			}
			granted := make(chan bool)
			go func() {
				ok, _ := one.Reserve(t.Context(), 1, 20, 100)
				granted <- ok
			}()
			elsewhere.Settle(90, 10)
			if !<-granted {
				t.Error("refused, want it to wait and be let in")
			}
			one.Settle(20, 20)
			one.Close()
			elsewhere.Close()
			if got := w.spentToday("ana"); got != 30 {
				t.Errorf("got %d, want 30", got)
			}
		})
	}
}

func TestLedgerDecides(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spent, input, amount int64
		want                 bool
	}{
		"nothing spent":             {0, 1, 10, true},
		"it fits exactly":           {90, 1, 10, true},
		"it may be too much, alone": {99, 1, 10, true},
		"its input is too much":     {95, 6, 10, false},
		"used up":                   {100, 0, 10, false},
		"more than used up":         {150, 0, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			till := w.till("one", longTTL)
			till.Settle(0, tt.spent)
			ok, err := till.Reserve(t.Context(), tt.input, tt.amount, 100)
			if ok != tt.want || err != nil {
				t.Errorf("got %v, %v", ok, err)
			}
			if ok {
				till.Settle(tt.amount, 0) // Close waits for calls under way
			}
			till.Close()
		})
	}
}

// TestLedgerBooksTheDead checks that what a host had reserved when it died is
// booked as spent, once, however many hosts look.
func TestLedgerBooksTheDead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hosts []string
		ttl   time.Duration
	}{
		"the host is back":                {[]string{"one"}, longTTL},
		"the host is back, twice":         {[]string{"one", "one"}, longTTL},
		"other hosts, when it is expired": {[]string{"two", "three", "four"}, time.Nanosecond},
		"all of them":                     {[]string{"one", "two", "three"}, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dead := w.till("one", tt.ttl)
			dead.Settle(0, 40)
			if ok, _ := dead.Reserve(t.Context(), 1, 50, 100); !ok {
				t.Fatal("refused")
			}
			dead.Die()
			var all sync.WaitGroup
			for _, host := range tt.hosts {
				next := w.till(host, longTTL)
				all.Go(func() {
					next.Open(time.Now())
					if ok, err := next.Reserve(t.Context(), 11, 11, 100); ok || err != nil {
						t.Errorf("%s: got %v, %v; want a refusal, as 90 are spent", host, ok, err)
					}
					next.Close()
				})
			}
			all.Wait()
			if got := w.spentToday("ana"); got != 90 {
				t.Errorf("%d is booked, want 90", got)
			}
			next := w.till(tt.hosts[0], longTTL)
			if lost, err := next.Lost(t.Context(), time.Now()); lost != 50 || err != nil {
				t.Errorf("the run has lost %d, %v; want 50", lost, err)
			}
			next.Close()
		})
	}
}

// TestLedgerBooksWhatExpires has a host that makes no call book what another
// one had reserved.
func TestLedgerBooksWhatExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead := w.till("one", 300*time.Millisecond)
	if ok, _ := dead.Reserve(t.Context(), 1, 60, 100); !ok {
		t.Fatal("refused")
	}
	dead.Die()
	next := w.till("two", longTTL)
	next.Open(time.Now())
	waittest.Until(w.t, "it is booked", func() bool { return w.spentToday("ana") == 60 })
	next.Close()
}

// TestLedgerBooksYesterday has a host that died before midnight come back after
// it.
func TestLedgerBooksYesterday(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead := w.till("one", longTTL)
	dead.Settle(0, 40)
	if ok, _ := dead.Reserve(t.Context(), 1, 50, 100); !ok {
		t.Fatal("refused")
	}
	dead.Die()
	tomorrow := time.Now().AddDate(0, 0, 1)
	next := w.till("one", longTTL)
	if lost, err := next.Lost(t.Context(), tomorrow); lost != 50 || err != nil {
		t.Errorf("the run has lost %d, %v; want 50", lost, err)
	}
	next.Open(tomorrow)
	waittest.Until(w.t, "it is booked", func() bool { return w.spentToday("ana") == 90 })
	next.Close()
}

// TestLedgerGivesBack has a host go on that another one took for dead: it pays
// what it spends, once.
func TestLedgerGivesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := w.till("one", time.Nanosecond)
	if ok, _ := slow.Reserve(t.Context(), 1, 60, 100); !ok {
		t.Fatal("refused")
	}
	other := w.till("two", longTTL)
	other.Open(time.Now())
	waittest.Until(w.t, "it is booked", func() bool { return w.spentToday("ana") == 60 })
	slow.Settle(60, 10)
	slow.Close()
	other.Close()
	if got := w.spentToday("ana"); got != 10 {
		t.Errorf("%d is booked, want 10", got)
	}
}

// TestLedgerClosesAfterItsCalls has a host that stops wait for a call that ends:
// nothing stays reserved.
func TestLedgerClosesAfterItsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	till := w.till("one", longTTL)
	if ok, _ := till.Reserve(t.Context(), 1, 60, 100); !ok {
		t.Fatal("refused")
	}
	closed := make(chan struct{})
	go func() { defer close(closed); till.Close() }()
	till.AwaitClosing()
	till.Settle(60, 10)
	<-closed
	if s := w.spend("ana"); s.Spent != 10 || s.Hosts["one"].Reserved != 0 {
		t.Errorf("got %+v, want 10 spent and nothing reserved", s)
	}
}

// TestRefusedCallReservesNothing has the budget of the day refuse a call that the
// budget of its person lets begin: neither has anything reserved for it then.
func TestRefusedCallReservesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := bustest.Log(t)
	ledger := budget.NewLedger(budget.Options{
		Agent: "ana", Host: "one", JS: w.bus.JS, Reader: records.NewReader(w.bus.JS), Log: &log, TTL: longTTL,
	})
	try := budget.Attempt{Run: "run", Payer: "web/dm/eve", Input: 60, Most: 60}
	over, err := ledger.Hold(try, time.Now()).Admit(t.Context(), budget.Limits{Peer: 100, Day: 50})
	if err != nil || over == nil || over.Span != budget.OfDay {
		t.Fatalf("got %+v, %v, want a refusal by the budget of the day", over, err)
	}
	ledger.Close()
	for entry, err := range records.Entries(t.Context(), w.bus.JS, bus.SpendBucket, ">") {
		if err != nil {
			t.Fatal(err)
		}
		if n := spendOf(t, entry.Value()).Hosts["one"].Reserved; n != 0 {
			t.Errorf("%s: %d stays reserved, want nothing", entry.Key(), n)
		}
	}
}

// TestLedgerBooksAll has several hosts book at once, none of it lost.
func TestLedgerBooksAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const hosts, each = 3, 200
	var all sync.WaitGroup
	for h := range hosts {
		till := w.till(fmt.Sprint("host", h), longTTL)
		all.Go(func() {
			for range each {
				till.Settle(0, 1)
			}
			till.Close()
		})
	}
	all.Wait()
	if got := w.spentToday("ana"); got != hosts*each {
		t.Errorf("got %d, want %d", got, hosts*each)
	}
}

// TestCallsOfOnePerson has calls of one person begin while others of them are booked. It is for
// the race detector.
func TestCallsOfOnePerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := bustest.Log(t)
	ledger := budget.NewLedger(budget.Options{
		Agent: "ana", Host: "one", JS: w.bus.JS, Reader: records.NewReader(w.bus.JS), Log: &log, TTL: longTTL,
		Alerts: func() budget.Alerts { return budget.Alerts{} },
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				h := ledger.Hold(budget.Attempt{Run: "run", Payer: "web/eve", Input: 1, Most: 1}, time.Now())
				if err := h.Reserve(t.Context()); err != nil {
					t.Error(err)
				}
				h.Settle(1)
			}
		})
	}
	all.Wait()
	ledger.Close()
	if got := w.spentToday("ana"); got != 100 {
		t.Errorf("got %d, want 100", got)
	}
}
