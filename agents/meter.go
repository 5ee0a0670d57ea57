package agents

import (
	"cmp"
	"context"
	"errors"
	"time"

	"agenthost/llm"
	"agenthost/run"
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

	day  *account // of the attempt under way; nil: it costs nothing
	held int64    // reserved there for it
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
func (m *meter) admit(ctx context.Context, l llm.Link, req llm.Request) (expected int64, err error) {
	m.close() // the last one admitted was not begun after all
	if l.Price == nil {
		return 0, nil
	}
	r := m.t.c.r
	tokens := int64(run.EstimateRequest(req))
	longest := int64(l.MaxTokens)
	if longest == 0 {
		longest = max(longAnswer, r.longest.Load())
	}
	input := l.Price.Cost(llm.Usage{Input: tokens})
	expected = l.Price.Cost(llm.Usage{Input: tokens, Output: longest})
	m.day = r.ledger.today(time.Now())
	over, err := m.over(ctx, input, expected)
	if over != nil {
		m.t.tellExcess(over)
		onExceed := m.t.p.cfg.Limits.Budget.OnExceed
		if onExceed == warnExceeded || onExceed == askExceeded && m.t.mayOverdraw(ctx) {
			return expected, nil
		}
		err = &llm.Error{Code: llm.CodeBudgetExceeded, Err: over}
	}
	if err != nil {
		m.day = nil
	}
	return expected, err
}

// over is the first of the budgets that an attempt would go beyond, nil when
// there is none. What the day's leaves is reserved then.
func (m *meter) over(ctx context.Context, input, expected int64) (*excess, error) {
	b, state := m.t.p.cfg.Limits.Budget, m.t.journal.State()
	if b.none() || m.t.overdrawn() {
		return nil, nil
	}
	for _, s := range []excess{
		{spanRun, m.spentByRun(state), llm.Amount(b.Run)},
		{spanSession, llm.Sum(state.Spent, m.spent), llm.Amount(b.Session)},
	} {
		// Nothing else of the session is under way: only what is sure to be
		// too much is not begun.
		if s.limit > 0 && (s.spent >= s.limit || llm.Sum(s.spent, input) > s.limit) {
			return &s, nil
		}
	}
	if b.Day == 0 {
		return nil, nil
	}
	c := claim{input: input, amount: expected, limit: llm.Amount(b.Day), soft: b.OnExceed == warnExceeded}
	ok, err := m.day.reserve(ctx, &c)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return &excess{spanDay, c.spent, c.limit}, nil
	}
	m.held = expected
	return nil, nil
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
	m.settle(a.Cost)
	for longest := &m.t.c.r.longest; ; {
		was := longest.Load()
		if a.Usage.Output <= was || longest.CompareAndSwap(was, a.Usage.Output) {
			return
		}
	}
}

// close gives back what is reserved for an attempt that was not made.
func (m *meter) close() { m.settle(0) }

func (m *meter) settle(cost int64) {
	if m.day != nil {
		m.day.settle(m.held, cost)
	}
	m.day, m.held = nil, 0
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
