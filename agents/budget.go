package agents

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/budget"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// What a run does that would go beyond a budget.
const (
	failExceeded = "fail"
	askExceeded  = "ask"
	warnExceeded = "warn"
)

// overBudget is what a person allows who lets a session, or an agent, go on
// beyond its budget.
const overBudget = "going beyond the budget"

// exceeded ends the run, or has it wait for somebody to let it go on.
func (t *runner) exceeded(e *budget.ExceededError, called []run.Event) run.Signal {
	if t.p.cfg.Limits.Budget.OnExceed != askExceeded {
		return run.Signal{
			Kind: run.Fault, Called: called,
			Error: &run.Error{Code: llm.CodeBudgetExceeded, Message: t.p.texts.Say("budget_" + string(e.Span))},
		}
	}
	wait := &run.Wait{
		For: run.ForApproval, ID: ask.NewToken(),
		Prompt:   t.p.texts.Say("budget_ask_"+string(e.Span), "spent", llm.Money(e.Spent), "limit", llm.Money(e.Limit)),
		Deadline: time.Now().Add(t.p.cfg.Limits.ApprovalTimeout),
	}
	t.word([]*run.Wait{wait})
	return run.Signal{Kind: run.Held, Called: called, Wait: wait}
}

// overdrawn reports whether somebody has let this run go beyond its budget.
func (t *runner) overdrawn() bool {
	left := t.journal.State().Run
	return t.overdraft || left != nil && left.Overdraft
}

// mayOverdraw asks whether somebody has let the session, or all of the
// agent's, go beyond their budgets.
func (t *runner) mayOverdraw(ctx context.Context) bool {
	t.overdraft = t.overdraft || t.c.r.parts.asks.Allowed(ctx, t.c.r.id, t.c.key, overBudget)
	return t.overdraft
}

// tellExcess tells operators that a budget is exceeded: once for each run,
// session, day or month.
func (t *runner) tellExcess(e *budget.ExceededError) {
	c, r := t.c, t.c.r
	var told bool
	switch e.Span {
	case budget.OfRun:
		told, t.toldExcess = t.toldExcess, true
	case budget.OfSession:
		c.mu.Lock()
		told, c.toldExcess = c.toldExcess, true
		c.mu.Unlock()
	default:
		told = !r.ledger.Report(e, time.Now())
	}
	if told {
		return
	}
	onExceed := cmp.Or(t.p.cfg.Limits.Budget.OnExceed, failExceeded)
	c.log().Warn().Str("run", t.id).Str("span", string(e.Span)).Str("spent", llm.Money(e.Spent)).
		Str("limit", llm.Money(e.Limit)).Str("on_exceed", onExceed).Msg("budget exceeded")
	fields := map[string]any{"span": e.Span, "spent": e.Spent, "limit": e.Limit, "on_exceed": onExceed}
	if e.Span == budget.OfRun || e.Span == budget.OfSession {
		fields["session"] = c.key
	}
	if e.Peer != "" {
		fields["peer"] = e.Peer
	}
	if e.Span == budget.OfRun {
		fields["run"] = t.id
	}
	r.parts.eventOf(t.chain(), r.id, "budget", fields)
}

// hasBudget reports whether the agent has one, for all or for one binding.
func (r *Runtime) hasBudget() bool {
	p := r.now()
	return !p.cfg.Limits.Budget.amounts().None() || slices.ContainsFunc(p.bound, func(b bound) bool {
		return !b.profile.cfg.Limits.Budget.amounts().None()
	})
}

// warnUnpriced says of which models a budget cannot know what they cost.
func (r *Runtime) warnUnpriced() {
	p := r.now()
	p.warnUnpriced(*r.log())
	for _, b := range p.bound {
		b.profile.warnUnpriced(r.log().With().Str("channel", b.subject).Logger())
	}
}

func (p *profile) warnUnpriced(log zerolog.Logger) {
	if p.cfg.Limits.Budget.amounts().None() {
		return
	}
	for _, l := range p.chain.Links {
		if l.Price == nil {
			log.Warn().Str("provider", l.Name).Str("model", l.Model).
				Msg("what this model costs is not known and counts as nothing in the budget; set its price")
		}
	}
}

// payer is the person whose message the run answers, by whichever agents it came;
// empty for what no person has asked for.
func (t *runner) payer() budget.Peer {
	o, err := t.origin()
	if err != nil || o.trigger() != run.ByMessage && o.trigger() != run.ByDelegate {
		return ""
	}
	at := t.person()
	if at == nil || at.To == "" {
		return ""
	}
	return budget.Peer(strings.TrimPrefix(at.Subject, bus.OutboundPrefix) + "/" + at.To)
}

// payer is the person whose budget counts what the run costs; empty where no
// budget does.
func (m *meter) payer() budget.Peer {
	if m.t.p.cfg.Limits.Budget.PeerDay == 0 {
		return ""
	}
	return m.t.payer()
}

// amounts are the budgets in micro-cents. None that is set becomes 0, which is no limit.
func (b Budget) amounts() budget.Limits {
	return budget.Limits{Run: amount(b.Run), Session: amount(b.Session), Day: amount(b.Day), Month: amount(b.Month), Peer: amount(b.PeerDay)}
}

func amount(dollars float64) int64 {
	if dollars == 0 {
		return 0
	}
	return max(llm.Amount(dollars), 1)
}

// alerts say when operators hear of what the agent spends.
func (r *Runtime) alerts() budget.Alerts {
	cfg := r.now().cfg
	a := budget.Alerts{Limits: cfg.Limits.Budget.amounts(), Shares: cfg.Limits.Budget.alerts(), Approvers: cfg.Approvers}
	if r.shadow() {
		a.Approvers = nil
	}
	return a
}
