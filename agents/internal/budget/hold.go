package budget

import (
	"context"
	"errors"
	"math"
	"time"

	"agenthost/llm"
)

// An Attempt is a call of a model that wants to begin.
type Attempt struct {
	Run   string // as the reservations have it
	Model string // its name in the configuration
	Payer Peer   // whose budget of a day counts it too; empty: no person's
	Input int64  // what it costs at least, in micro-cents
	Most  int64  // what it costs at most, as far as can be told
	// Soft attempts do not wait for what others have reserved.
	Soft bool
}

// A Hold is what is reserved for one attempt: in the account of the day, and in
// that of the person's day.
type Hold struct {
	ledger *Ledger
	at     time.Time
	try    Attempt
	day    reserved
	peer   reserved
}

// Hold is for an attempt; nothing is reserved yet.
func (l *Ledger) Hold(try Attempt, now time.Time) *Hold {
	h := &Hold{ledger: l, at: now, try: try}
	h.day.account = l.today(now)
	if try.Payer != "" {
		h.peer.account = l.ofPeer(try.Payer, now)
	}
	return h
}

// Admit reserves what the attempt may cost in the budgets of the day, the month and
// the person. It returns the one that leaves less, with nothing reserved.
func (h *Hold) Admit(ctx context.Context, limits Limits) (*ExceededError, error) {
	if e, err := h.admitPeer(ctx, limits); e != nil || err != nil {
		return e, err
	}
	e, err := h.admitDay(ctx, limits)
	if e != nil || err != nil {
		h.peer.settle(h.try, 0)
	}
	return e, err
}

func (h *Hold) claim() claim {
	return claim{run: h.try.Run, input: h.try.Input, amount: h.try.Most, soft: h.try.Soft}
}

// admitDay reserves in the budgets of the day and the month, of which the one
// counts that leaves less, or says which that is.
func (h *Hold) admitDay(ctx context.Context, limits Limits) (*ExceededError, error) {
	which, limit, before := OfDay, limits.Day, int64(0)
	c := h.claim()
	c.limit = limit
	if limits.Day == 0 {
		c.limit = math.MaxInt64
	}
	if limits.Month > 0 {
		var err error
		if before, err = h.ledger.beforeToday(ctx, h.at); err != nil {
			return nil, err
		}
		if left := max(limits.Month-before, 0); left < c.limit {
			which, limit, c.limit = OfMonth, limits.Month, left
		}
	}
	c.soft = c.soft || c.limit == math.MaxInt64
	err := h.day.reserve(ctx, &c)
	if !errors.Is(err, errNotLeft) {
		return nil, err
	}
	if which == OfMonth {
		c.spent = llm.Sum(before, c.spent)
	}
	return &ExceededError{Span: which, Spent: c.spent, Limit: limit}, nil
}

// Reserve reserves what the attempt may cost until it has ended, whatever the
// budgets leave.
func (h *Hold) Reserve(ctx context.Context) error {
	if err := h.peer.reserve(ctx, h.claim().unlimited()); err != nil {
		return err
	}
	return h.day.reserve(ctx, h.claim().unlimited())
}

// Settle books what the attempt has cost in the place of what is reserved; 0 gives
// back what is reserved for one that was not made.
func (h *Hold) Settle(cost int64) {
	h.day.settle(h.try, cost)
	h.peer.settle(h.try, cost)
}

// errNotLeft is why there is no reservation: the budget is used up.
var errNotLeft = errors.New("the budget leaves less")

// reserved is what is reserved in an account; without an account nothing is.
type reserved struct {
	account *account
	amount  int64
}

func (r *reserved) reserve(ctx context.Context, c *claim) error {
	if r.account == nil {
		return nil
	}
	ok, err := r.account.reserve(ctx, c)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNotLeft
	}
	r.account, r.amount = c.account, c.amount
	return nil
}

func (r *reserved) settle(try Attempt, cost int64) {
	if r.account != nil {
		r.account.settle(try.Run, try.Model, r.amount, cost)
	}
	r.amount = 0
}
