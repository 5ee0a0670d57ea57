package budget_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"agenthost/agents/internal/budget"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// faultyJS stands between a ledger and its bucket.
type faultyJS struct {
	jetstream.JetStream
	written func() error // is called after each write; its error is in the place of the answer
}

func (f *faultyJS) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	kv, err := f.JetStream.KeyValue(ctx, bucket)
	return &faultyKV{kv, f}, err
}

type faultyKV struct {
	jetstream.KeyValue
	js *faultyJS
}

func (f *faultyKV) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	revision, err := f.KeyValue.Create(ctx, key, value, opts...)
	return revision, errors.Join(err, f.js.written())
}

func (f *faultyKV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := f.KeyValue.Update(ctx, key, value, revision)
	return revision, errors.Join(err, f.js.written())
}

// ledger is that of ana on a host, whose writes are followed by what written does.
func (w *world) ledger(host string, written func() error) *budget.Ledger {
	log := bustest.Log(w.t)
	return budget.NewLedger(budget.Options{
		Agent: "ana", Host: host, JS: &faultyJS{w.bus.JS, written}, Reader: records.NewReader(w.bus.JS), Log: &log, TTL: longTTL,
	})
}

// What was written counts once, also where the answer to the write was lost.
func TestLedgerLosesAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lost := 0
	l := w.ledger("one", func() error {
		if lost++; lost < 3 {
			return errors.New("no answer")
		}
		return nil
	})
	l.Hold(budget.Attempt{Run: "run", Model: "gpt"}, time.Now()).Settle(5)
	w.booked(5)
	l.Hold(budget.Attempt{Run: "run", Model: "gpt"}, time.Now()).Settle(7)
	l.Close()
	if s := w.spend("ana"); s.Spent != 12 || s.Models["gpt"] != 12 {
		t.Errorf("%d is booked, %v by model; want 12", s.Spent, s.Models)
	}
}

// A call that is given up while its reservation is written has nothing reserved afterwards.
func TestCallIsGivenUpWhileItIsAdmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	l := w.ledger("one", func() error {
		if ctx.Err() == nil {
			cancel()
			<-over
		}
		return nil
	})
	err := l.Hold(budget.Attempt{Run: "run", Input: 1, Most: 60}, time.Now()).Reserve(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	close(over)
	waittest.Until(t, "nothing is reserved", func() bool {
		s := w.spend("ana")
		return s.Hosts["one"].Write != "" && s.Hosts["one"].Reserved == 0
	})
	l.Close()
}

// A call whose budget cannot be looked at does not begin.
func TestNoCallWithoutABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.ledger("one", func() error { return nil })
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, limits := range map[string]budget.Limits{"month": {Month: 100}, "day": {Day: 100}, "person": {Peer: 100}} {
		payer := budget.Peer("")
		if limits.Peer > 0 {
			payer = "web/eve"
		}
		h := l.Hold(budget.Attempt{Run: "run", Payer: payer, Input: 1, Most: 1}, time.Now())
		if over, err := h.Admit(ctx, limits); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, %v, want %v", name, over, err, context.Canceled)
		}
	}
	if err := l.Hold(budget.Attempt{Run: "run", Most: 1}, time.Now()).Reserve(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// What another host has reserved stays reserved when this one writes.
func TestLedgerKeepsWhatOthersReserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.till("one", longTTL), w.till("two", longTTL)
	if ok, err := one.Reserve(t.Context(), 1, 80, 100); !ok || err != nil {
		t.Fatalf("got %v, %v", ok, err)
	}
	two.Open(time.Now())
	two.Settle(0, 5)
	w.booked(5)
	if s := w.spend("ana"); s.Hosts["one"].Reserved != 80 {
		t.Errorf("got %+v, want 80 reserved by one", s)
	}
	one.Settle(80, 0)
	one.Close()
	two.Close()
}

// What a person has spent is gone with the person: their record begins at 0 again.
func TestRecordOfAPersonWhoIsErased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.ledger("one", func() error { return nil })
	defer l.Close()
	now := time.Now()
	spent := func() (sum int64) {
		for entry, err := range records.Entries(t.Context(), w.bus.JS, bus.SpendBucket, today()+".*") {
			if err != nil {
				t.Fatal(err)
			}
			sum += spendOf(t, entry.Value()).Spent
		}
		return sum
	}
	begin := func(cost int64) *budget.Hold {
		t.Helper()
		h := l.Hold(budget.Attempt{Run: "run", Payer: "web/eve", Input: 1, Most: cost}, now)
		if err := h.Reserve(t.Context()); err != nil {
			t.Fatal(err)
		}
		return h
	}
	underWay := begin(7) // the host has the record in memory meanwhile
	begin(5).Settle(5)
	waittest.Until(t, "it is booked", func() bool { return spent() == 5 })
	stream, err := w.bus.JS.Stream(t.Context(), "KV_"+bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+bus.SpendBucket+"."+today()+".>")); err != nil {
		t.Fatal(err)
	}
	underWay.Settle(7)
	waittest.Until(t, "it is booked", func() bool { return spent() == 7 })
}
