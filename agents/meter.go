package agents

import (
	"cmp"
	"context"
	"errors"
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

// A hold is what is reserved for one attempt.
type hold struct {
	day    *account
	model  string // its name in the configuration
	run    string // as the reservation has it
	amount int64
}

// settle books what the attempt has cost in the place of what is reserved.
func (h *hold) settle(cost int64) { h.day.settle(h.run, h.model, h.amount, cost) }

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
	h := &hold{day: r.ledger.today(time.Now())}
	if l.Gate != nil {
		h.model = l.Gate.Name()
	}
	admission := llm.Admission{Expected: expected, Settle: h.settle}
	c := claim{run: m.t.reservation(), input: input, amount: expected}
	over, err := m.over(ctx, h, c)
	if over != nil {
		m.t.tellExcess(over)
		onExceed := m.t.p.cfg.Limits.Budget.OnExceed
		if onExceed == warnExceeded || onExceed == askExceeded && m.t.mayOverdraw(ctx) {
			return admission, h.reserve(ctx, c.unlimited())
		}
		err = &llm.Error{Code: llm.CodeBudgetExceeded, Err: over}
	}
	return admission, err
}

// over is the first of the budgets that the attempt of c would go beyond, nil
// when there is none. What it may cost is reserved then, whichever budgets there
// are: if it dies with its host, all of them count it.
func (m *meter) over(ctx context.Context, h *hold, c claim) (*excess, error) {
	b, state := m.t.p.cfg.Limits.Budget, m.t.journal.State()
	if b.none() {
		return nil, nil
	}
	if m.t.overdrawn() {
		return nil, h.reserve(ctx, c.unlimited())
	}
	for _, s := range []excess{
		{spanRun, m.spentByRun(state), llm.Amount(b.Run)},
		{spanSession, llm.Sum(state.Spent, m.spent), llm.Amount(b.Session)},
	} {
		// Nothing else of the session is under way: only what is sure to be
		// too much is not begun.
		if s.limit > 0 && (s.spent >= s.limit || llm.Sum(s.spent, c.input) > s.limit) {
			return &s, nil
		}
	}
	if b.Day == 0 {
		return nil, h.reserve(ctx, c.unlimited())
	}
	c.limit, c.soft = llm.Amount(b.Day), b.OnExceed == warnExceeded
	err := h.reserve(ctx, &c)
	if errors.Is(err, errNotLeft) {
		return &excess{spanDay, c.spent, c.limit}, nil
	}
	return nil, err
}

// errNotLeft is why there is no reservation: the day's budget is used up.
var errNotLeft = errors.New("the budget leaves less")

// reserve reserves what c asks for until the attempt has ended.
func (h *hold) reserve(ctx context.Context, c *claim) error {
	ok, err := h.day.reserve(ctx, c)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNotLeft
	}
	h.amount, h.run = c.amount, c.run
	return nil
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
