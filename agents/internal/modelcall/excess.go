package modelcall

import (
	"cmp"
	"context"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/budget"
	"agenthost/agents/internal/inflight"
	"agenthost/llm"
	"agenthost/run"
)

// What a run does that would go beyond a budget.
const (
	failExceeded = "fail"
	askExceeded  = "ask"
	warnExceeded = "warn"
)

// exceeded ends the run, or suspends it until a person lets it go on.
func (t *Caller) exceeded(e *budget.ExceededError, called []run.Event) run.Signal {
	if t.Profile.Config.Limits.Budget.OnExceed != askExceeded {
		return run.Signal{
			Kind: run.Fault, Called: called,
			Error: &run.Error{Code: llm.CodeBudgetExceeded, Message: t.Profile.Texts.Say("budget_" + string(e.Span))},
		}
	}
	wait := &run.Wait{
		For: run.ForApproval, ID: ask.NewToken(),
		Prompt:   t.Profile.Texts.Say("budget_ask_"+string(e.Span), "spent", llm.Money(e.Spent), "limit", llm.Money(e.Limit)),
		Deadline: inflight.Earlier(time.Now().Add(t.Profile.Config.Limits.ApprovalTimeout), t.Until()),
	}
	t.Word(wait)
	return run.Signal{Kind: run.Held, Called: called, Wait: wait}
}

// overdrawn reports whether a person has let this run exceed its budget.
func (t *Caller) overdrawn() bool {
	left := t.Journal.State().Run
	return t.overdraft || left != nil && left.Overdraft
}

// mayOverdraw reports whether a person has let the session, or all of the
// agent's, go beyond their budgets.
func (t *Caller) mayOverdraw(ctx context.Context) bool {
	t.overdraft = t.overdraft || t.Agent.Parts.Asks.Allowed(ctx, t.Agent.ID, t.Key, ask.OverBudget)
	return t.overdraft
}

// tellExcess tells operators that a budget is exceeded: once for each run,
// session, day or month.
func (t *Caller) tellExcess(e *budget.ExceededError) {
	var told bool
	switch e.Span {
	case budget.OfRun:
		told, t.told = t.told, true
	case budget.OfSession:
		told = t.Told.Swap(true)
	default:
		told = !t.Agent.Ledger.Report(e, time.Now())
	}
	if told {
		return
	}
	onExceed := cmp.Or(t.Profile.Config.Limits.Budget.OnExceed, failExceeded)
	t.Log().Warn().Str("run", t.ID).Str("span", string(e.Span)).Str("spent", llm.Money(e.Spent)).
		Str("limit", llm.Money(e.Limit)).Str("on_exceed", onExceed).Msg("budget exceeded")
	fields := map[string]any{"span": e.Span, "spent": e.Spent, "limit": e.Limit, "on_exceed": onExceed}
	if e.Span == budget.OfRun || e.Span == budget.OfSession {
		fields["session"] = t.Key
	}
	if e.Peer != "" {
		fields["peer"] = e.Peer
	}
	if e.Span == budget.OfRun {
		fields["run"] = t.ID
	}
	t.Agent.Parts.EventOf(t.Chain(), t.Agent.ID, "budget", fields)
}

// payer is the person whose budget counts what the run costs; empty where no
// budget does.
func (m *meter) payer() budget.Peer {
	if m.t.Profile.Config.Limits.Budget.PeerDay == 0 {
		return ""
	}
	return m.t.Payer()
}
