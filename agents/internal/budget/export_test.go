package budget

import (
	"context"
	"runtime"
	"time"
)

// A Till is a ledger as tests hold it.
type Till struct{ ledger *Ledger }

// NewTill makes the ledger of an agent on one host.
func NewTill(o Options) Till { return Till{NewLedger(o)} }

// Reserve asks for leave to spend amount, input of it for sure.
func (t Till) Reserve(ctx context.Context, input, amount, limit int64) (bool, error) {
	return t.ledger.today(time.Now()).reserve(ctx, &claim{run: tillRun, input: input, amount: amount, limit: limit})
}

// Settle books what was spent in the place of what was reserved.
func (t Till) Settle(reserved, cost int64) {
	t.ledger.today(time.Now()).settle(tillRun, "", reserved, cost)
}

// Close waits until all is written.
func (t Till) Close() { t.ledger.Close() }

// AwaitClosing waits until Close waits for the calls under way.
func (t Till) AwaitClosing() {
	for {
		t.ledger.mu.Lock()
		waits := t.ledger.drained != nil
		t.ledger.mu.Unlock()
		if waits {
			return
		}
		runtime.Gosched()
	}
}

// tillRun is the run whose calls a Till pays.
const tillRun = "run"

// Open books what the dead had reserved by now.
func (t Till) Open(now time.Time) { t.ledger.Open(now) }

// Lost is what a run lost with other hosts.
func (t Till) Lost(ctx context.Context, now time.Time) (int64, error) {
	return t.ledger.Lost(ctx, tillRun, now)
}

// Die ends the ledger as the death of its host does: nothing more is written.
func (t Till) Die() {
	t.ledger.cancel()
	t.ledger.mu.Lock()
	t.ledger.closed = true
	for _, a := range t.ledger.days {
		a.unwatch()
	}
	t.ledger.mu.Unlock()
	t.ledger.working.Wait()
}
