package agents_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
)

const longLife = time.Hour

// spentToday is what the record of an agent says.
func (w *world) spentToday(agent string) int64 {
	w.t.Helper()
	spent, err := agents.SpentToday(w.t.Context(), w.bus.JS, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return spent[agent]
}

// TestLedgerIsNotOverdrawn lets many calls at once, on two hosts, use a budget
// for half of them.
func TestLedgerIsNotOverdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts := []agents.Till{
		agents.NewTill("ana", "one", w.parts, longLife), agents.NewTill("ana", "two", w.parts, longLife),
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

// TestLedgerWaits has a call wait for one that may cost more than it does.
func TestLedgerWaits(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"for its own host": "one", "for another host": "two"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one := agents.NewTill("ana", "one", w.parts, longLife)
			elsewhere := one
			if other != "one" {
				elsewhere = agents.NewTill("ana", other, w.parts, longLife)
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
			w := newWorld(t)
			till := agents.NewTill("ana", "one", w.parts, longLife)
			till.Settle(0, tt.spent)
			if ok, err := till.Reserve(t.Context(), tt.input, tt.amount, 100); ok != tt.want || err != nil {
				t.Errorf("got %v, %v", ok, err)
			}
			till.Close()
		})
	}
}

// TestLedgerForgetsTheDead checks that what a host had reserved when it died
// keeps nobody waiting: not itself when it is back, others not for ever.
func TestLedgerForgetsTheDead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		host string
		life time.Duration
	}{
		"the host is back":         {"one", longLife},
		"another host, a while on": {"two", time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dead := agents.NewTill("ana", "one", w.parts, tt.life)
			dead.Settle(0, 40)
			if ok, _ := dead.Reserve(t.Context(), 1, 60, 100); !ok {
				t.Fatal("refused")
			}
			dead.Close()
			next := agents.NewTill("ana", tt.host, w.parts, longLife)
			if ok, err := next.Reserve(t.Context(), 1, 30, 100); !ok || err != nil {
				t.Errorf("got %v, %v", ok, err)
			}
			next.Settle(30, 30)
			next.Close()
			if got := w.spentToday("ana"); got != 70 {
				t.Errorf("got %d, want 70", got)
			}
		})
	}
}

// TestLedgerBooksAll has several hosts book at once, none of it lost.
func TestLedgerBooksAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const hosts, each = 3, 200
	var all sync.WaitGroup
	for h := range hosts {
		till := agents.NewTill("ana", fmt.Sprint("host", h), w.parts, longLife)
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
