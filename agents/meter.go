package agents

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// A meter stands between a run and its models for one invocation: it lets each
// attempt begin that the budgets leave money for,
// and books what it has cost.
type meter struct {
	calls
	models *llm.Chain // that a hook has chosen; nil: the agent's
	names  []string   // theirs
	chain  llm.Chain  // of the models, with the meter before it

	spent int64 // by the attempts so far; the log does not know of them yet
}

// A hold is what is reserved for one attempt: in the account of the day, and in
// that of the person's day.
type hold struct {
	run   string // as the reservations have it
	model string // its name in the configuration
	day   reserved
	peer  reserved
	payer peer
}

// newHold is for an attempt by a link; nothing is reserved yet.
func (m *meter) newHold(run string, l llm.Link, now time.Time) *hold {
	h := &hold{run: run, payer: m.payer()}
	h.day.account, h.peer.account = m.t.c.r.ledger.today(now), m.peerAccount(h.payer, now)
	if l.Gate != nil {
		h.model = l.Gate.Name()
	}
	return h
}

// settle books what the attempt has cost in the place of what is reserved; 0 gives
// back what is reserved for one that was not made.
func (h *hold) settle(cost int64) {
	h.day.settle(h.run, h.model, cost)
	h.peer.settle(h.run, h.model, cost)
}

// reserved is what is reserved in an account; without an account nothing is.
type reserved struct {
	account *account
	amount  int64
}

// reserve reserves what c asks for.
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

// settle books what a call of the run by a model has cost.
func (r *reserved) settle(run, model string, cost int64) {
	if r.account != nil {
		r.account.settle(run, model, r.amount, cost)
	}
	r.amount = 0
}

func (t *runner) newMeter() *meter { return &meter{calls: calls{t: t}} }

// metered is the chain of the models with the meter before it.
func (m *meter) metered() *llm.Chain {
	m.chain = *cmp.Or(m.models, m.t.p.chain)
	m.chain.Admit = m.admit
	return &m.chain
}

// longAnswer is how long an answer is taken to become, in tokens, when nothing
// bounds it and none has been longer.
const longAnswer = 8192

// admit lets an attempt begin, or says what it would go beyond.
func (m *meter) admit(ctx context.Context, l llm.Link, req llm.Request) (llm.Admission, error) {
	m.t.asks(l)
	if l.Price == nil {
		return llm.Admission{}, nil
	}
	r := m.t.c.r
	tokens := int64(run.EstimateRequest(req))
	longest := int64(l.MaxTokens)
	if longest == 0 {
		longest = max(longAnswer, r.longest.Load())
	}
	input := l.Price.Cost(llm.Usage{Input: tokens})
	expected := l.Price.Cost(llm.Usage{Input: tokens, Output: longest})
	c := claim{run: m.t.reservation(), input: input, amount: expected}
	now := time.Now()
	h := m.newHold(c.run, l, now)
	over, err := m.over(ctx, h, c, now)
	if over != nil {
		m.t.tellExcess(over)
		onExceed := m.t.p.cfg.Limits.Budget.OnExceed
		if onExceed == warnExceeded || onExceed == askExceeded && m.t.mayOverdraw(ctx) {
			err = h.reserve(ctx, c)
		} else {
			err = &llm.Error{Code: llm.CodeBudgetExceeded, Err: over}
		}
	}
	if err != nil {
		h.settle(0)
		return llm.Admission{}, err
	}
	return llm.Admission{Expected: expected, Settle: h.settle}, nil
}

// over is the first of the budgets that the attempt of c would go beyond, nil
// when there is none. What it may cost is reserved then, whichever budgets there
// are: if it dies with its host, all of them count it.
func (m *meter) over(ctx context.Context, h *hold, c claim, now time.Time) (*excess, error) {
	b, state := m.t.p.cfg.Limits.Budget, m.t.journal.State()
	if b.none() {
		return nil, nil
	}
	if m.t.overdrawn() {
		return nil, h.reserve(ctx, c)
	}
	for _, s := range []excess{
		{span: spanRun, spent: m.spentByRun(state), limit: llm.Amount(b.Run)},
		{span: spanSession, spent: llm.Sum(state.Spent, m.spent), limit: llm.Amount(b.Session)},
	} {
		// Nothing else of the session is under way: only what is sure to be
		// too much is not begun.
		if s.limit > 0 && (s.spent >= s.limit || llm.Sum(s.spent, c.input) > s.limit) {
			return &s, nil
		}
	}
	c.soft = b.OnExceed == warnExceeded
	if e, err := h.overPeer(ctx, c, b); e != nil || err != nil {
		return e, err
	}
	e, err := m.overDay(ctx, h, c, b, now)
	if e != nil || err != nil {
		h.peer.settle(h.run, h.model, 0)
	}
	return e, err
}

// overPeer reserves in the budget of the person, or says that there is less left.
func (h *hold) overPeer(ctx context.Context, c claim, b Budget) (*excess, error) {
	c.limit = llm.Amount(b.PeerDay)
	err := h.peer.reserve(ctx, &c)
	if errors.Is(err, errNotLeft) {
		return &excess{span: spanPeer, spent: c.spent, limit: c.limit, peer: h.payer}, nil
	}
	return nil, err
}

// overDay reserves in the budgets of the day and the month, of which the one
// counts that leaves less, or says which that is.
func (m *meter) overDay(ctx context.Context, h *hold, c claim, b Budget, now time.Time) (*excess, error) {
	which, limit, before := spanDay, llm.Amount(b.Day), int64(0)
	c.limit = limit
	if b.Day == 0 {
		c.limit = math.MaxInt64
	}
	if b.Month > 0 {
		var err error
		if before, err = m.t.c.r.ledger.beforeToday(ctx, now); err != nil {
			return nil, err
		}
		if left := max(llm.Amount(b.Month)-before, 0); left < c.limit {
			which, limit, c.limit = spanMonth, llm.Amount(b.Month), left
		}
	}
	c.soft = c.soft || c.limit == math.MaxInt64
	err := h.day.reserve(ctx, &c)
	if !errors.Is(err, errNotLeft) {
		return nil, err
	}
	if which == spanMonth {
		c.spent = llm.Sum(before, c.spent)
	}
	return &excess{span: which, spent: c.spent, limit: limit}, nil
}

// errNotLeft is why there is no reservation: the budget is used up.
var errNotLeft = errors.New("the budget leaves less")

// reserve reserves what c asks for until the attempt has ended, whatever the
// budgets leave.
func (h *hold) reserve(ctx context.Context, c claim) error {
	if err := h.peer.reserve(ctx, c.unlimited()); err != nil {
		return err
	}
	return h.day.reserve(ctx, c.unlimited())
}

func (m *meter) spentByRun(state run.State) int64 {
	if state.Run == nil {
		return m.spent
	}
	return llm.Sum(state.Run.Spent, m.spent)
}

// add takes an attempt that has ended.
func (m *meter) add(a llm.Attempt) {
	m.calls.add(a)
	m.spent = llm.Sum(m.spent, a.Cost)
	for longest := &m.t.c.r.longest; ; {
		was := longest.Load()
		if a.Usage.Output <= was || longest.CompareAndSwap(was, a.Usage.Output) {
			return
		}
	}
}

// refused is the signal of a run whose call was not let begin; ok is false
// when broken is something else.
func (m *meter) refused(broken error) (sig run.Signal, ok bool) {
	e, ok := errors.AsType[*excess](broken)
	if !ok {
		return run.Signal{}, false
	}
	return m.t.exceeded(e, m.events), true
}

// reservation names the run in the record of its agent. A run that died before
// its first commit has another id when it is tried again, and the same message.
func (t *runner) reservation() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.inputs) == 0 {
		return t.id
	}
	return session.SID(t.inputs[0].ID, t.c.key)
}

// lost is what was reserved for the calls of earlier tries that died with their
// hosts. Without NATS it is waited for, as a reservation is.
func (t *runner) lost(ctx context.Context) int64 {
	if t.p.cfg.Limits.Budget.none() {
		return 0
	}
	for {
		sum, err := t.c.r.ledger.lost(ctx, t.reservation(), time.Now())
		if err == nil {
			return sum
		}
		t.c.log().Debug().Err(err).Str("run", t.id).Msg("budget of a resumed run: read failed; retrying")
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return 0
		}
	}
}
