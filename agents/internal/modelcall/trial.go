package modelcall

import (
	"context"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/profile"
	"agenthost/llm"
)

// trialRun is whose reservations those of trials are.
const trialRun = "trial"

// Trial lets an attempt begin that an operator makes with the agent's prompt, outside
// any run: what it costs counts in the agent's budgets of the day and the month, and
// what these leave no room for is refused, unless they only warn.
func Trial(agent *inflight.Agent, p *profile.Profile) func(context.Context, llm.Link, llm.Request) (llm.Admission, error) {
	return func(ctx context.Context, l llm.Link, req llm.Request) (llm.Admission, error) {
		if l.Price == nil {
			return llm.Admission{}, nil
		}
		limits := p.Budget()
		try := attempt(agent, l, req)
		try.Run, try.Soft = trialRun, p.Config.Limits.Budget.OnExceed == warnExceeded
		h := agent.Ledger.Hold(try, time.Now())
		if limits.Day > 0 || limits.Month > 0 {
			over, err := h.Admit(ctx, limits)
			switch {
			case over != nil && try.Soft:
				err = h.Reserve(ctx)
			case over != nil:
				err = &llm.Error{Code: llm.CodeBudgetExceeded, Err: over}
			}
			if err != nil {
				h.Settle(0)
				return llm.Admission{}, err
			}
		}
		return llm.Admission{Expected: try.Most, Settle: h.Settle}, nil
	}
}
