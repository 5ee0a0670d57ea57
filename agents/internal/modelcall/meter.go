package modelcall

import (
	"cmp"
	"context"
	"errors"
	"time"

	"agenthost/agents/internal/budget"
	"agenthost/agents/internal/inflight"
	"agenthost/llm"
	"agenthost/run"
)

// A meter stands between a run and its models for one invocation: it lets each
// attempt begin that the budgets leave money for,
// and books what it has cost.
type meter struct {
	calls
	models *llm.Chain             // that a hook has chosen; nil: the agent's
	names  []string               // theirs
	offers func(tool string) bool // what a hook has left of the tools; nil: all
	chain  llm.Chain              // of the models, with the meter before it

	spoke bool  // something was heard of the answer under way
	spent int64 // by the attempts so far; the log does not know of them yet
}

func (t *Caller) newMeter() *meter { return &meter{calls: calls{t: t}} }

// metered is the chain of the models with the meter before it.
func (m *meter) metered() *llm.Chain {
	m.chain = *cmp.Or(m.models, m.t.Profile.Chain)
	m.chain.Admit = m.admit
	return &m.chain
}

// longAnswer is how long an answer is taken to become, in tokens, when nothing
// bounds it and none has been longer.
const longAnswer = 8192

// admit lets an attempt begin, or says what it would go beyond.
func (m *meter) admit(ctx context.Context, l llm.Link, req llm.Request) (llm.Admission, error) {
	m.t.Asked(l)
	if l.Price == nil {
		return llm.Admission{}, nil
	}
	try := attempt(m.t.Agent, l, req)
	try.Run, try.Payer = m.t.Reservation(), m.payer()
	onExceed := m.t.Profile.Config.Limits.Budget.OnExceed
	try.Soft = onExceed == warnExceeded
	h := m.t.Agent.Ledger.Hold(try, time.Now())
	over, err := m.over(ctx, h, try.Input)
	if over != nil {
		m.t.tellExcess(over)
		if onExceed == warnExceeded || onExceed == askExceeded && m.t.mayOverdraw(ctx) {
			err = h.Reserve(ctx)
		} else {
			err = &llm.Error{Code: llm.CodeBudgetExceeded, Err: over}
		}
	}
	if err != nil {
		h.Settle(0)
		return llm.Admission{}, err
	}
	return llm.Admission{Expected: try.Most, Settle: h.Settle}, nil
}

// attempt is what asking a model costs at least and at most, as far as can be told. The
// link has a price.
func attempt(agent *inflight.Agent, l llm.Link, req llm.Request) budget.Attempt {
	tokens := int64(run.EstimateRequest(req))
	longest := int64(l.MaxTokens)
	if longest == 0 {
		longest = max(longAnswer, agent.Longest.Load())
	}
	try := budget.Attempt{Input: l.Price.Cost(llm.Usage{Input: tokens}), Most: l.Price.Cost(llm.Usage{Input: tokens, Output: longest})}
	if l.Gate != nil {
		try.Model = l.Gate.Name()
	}
	return try
}

// over is the first of the budgets that the attempt of h would go beyond, nil
// when there is none. What it may cost is reserved then, whichever budgets there
// are: if it dies with its host, all of them count it.
func (m *meter) over(ctx context.Context, h *budget.Hold, input int64) (*budget.ExceededError, error) {
	limits, state := m.t.Profile.Budget(), m.t.Journal.State()
	if limits.None() {
		return nil, nil
	}
	if m.t.overdrawn() {
		return nil, h.Reserve(ctx)
	}
	for _, s := range []budget.ExceededError{
		{Span: budget.OfRun, Spent: m.spentByRun(state), Limit: limits.Run},
		{Span: budget.OfSession, Spent: llm.Sum(state.Spent, m.spent), Limit: limits.Session},
	} {
		// Nothing else of the session is under way: only what is sure to be
		// too much is not begun.
		if s.Limit > 0 && (s.Spent >= s.Limit || llm.Sum(s.Spent, input) > s.Limit) {
			return &s, nil
		}
	}
	return h.Admit(ctx, limits)
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
	for longest := &m.t.Agent.Longest; ; {
		was := longest.Load()
		if a.Usage.Output <= was || longest.CompareAndSwap(was, a.Usage.Output) {
			return
		}
	}
}

// refused is the signal of a run whose call was not let begin; ok is false
// when broken is something else.
func (m *meter) refused(broken error) (sig run.Signal, ok bool) {
	e, ok := errors.AsType[*budget.ExceededError](broken)
	if !ok {
		return run.Signal{}, false
	}
	return m.t.exceeded(e, m.events), true
}

// budgetRetry is how long it takes until what cannot be read is read again.
const budgetRetry = 200 * time.Millisecond

// Lost is what was reserved for the calls of earlier tries that died with their
// hosts. Without NATS it is waited for, as a reservation is.
func (t *Caller) Lost(ctx context.Context) int64 {
	if t.Profile.Budget().None() {
		return 0
	}
	for {
		sum, err := t.Agent.Ledger.Lost(ctx, t.Reservation(), time.Now())
		if err == nil {
			return sum
		}
		t.Log().Debug().Err(err).Str("run", t.ID).Msg("budget of a resumed run: read failed; retrying")
		select {
		case <-time.After(budgetRetry):
		case <-ctx.Done():
			return 0
		}
	}
}
