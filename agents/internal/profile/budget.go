package profile

import (
	"slices"

	"github.com/rs/zerolog"

	"agenthost/agents"
	"agenthost/agents/internal/budget"
	"agenthost/llm"
)

// WarnUnpriced says of which models a budget cannot know what they cost.
func (p *Profile) WarnUnpriced(log zerolog.Logger) {
	p.warnUnpriced(log)
	for _, b := range p.Bound {
		b.Profile.warnUnpriced(log.With().Str("channel", b.Subject).Logger())
	}
}

func (p *Profile) warnUnpriced(log zerolog.Logger) {
	if p.Budget().None() {
		return
	}
	for _, l := range p.Chain.Links {
		if l.Price == nil {
			log.Warn().Str("provider", l.Name).Str("model", l.Model).
				Msg("what this model costs is not known and counts as nothing in the budget; set its price")
		}
	}
}

// Budget is what the runs may spend.
func (p *Profile) Budget() budget.Limits { return amounts(p.Config.Limits.Budget) }

// HasBudget reports whether the agent has a budget, for all runs or for those of one binding.
func (p *Profile) HasBudget() bool {
	return !p.Budget().None() || slices.ContainsFunc(p.Bound, func(b Bound) bool { return !b.Profile.Budget().None() })
}

// Alerts say when operators hear of what the agent spends.
func (p *Profile) Alerts() budget.Alerts {
	a := budget.Alerts{Limits: p.Budget(), Shares: alertShares(p.Config.Limits.Budget), Approvers: p.Config.Approvers}
	if p.Shadow() {
		a.Approvers = nil
	}
	return a
}

// alertShares are the shares of which it is told that they are spent, the lowest first.
func alertShares(b agents.Budget) []float64 {
	if b.Alert == nil {
		return agents.DefaultAlert()
	}
	return slices.Sorted(slices.Values(b.Alert))
}

// amounts are the budgets in micro-cents. None that is set becomes 0, which is no limit.
func amounts(b agents.Budget) budget.Limits {
	return budget.Limits{Run: amount(b.Run), Session: amount(b.Session), Day: amount(b.Day), Month: amount(b.Month), Peer: amount(b.PeerDay)}
}

func amount(dollars float64) int64 {
	if dollars == 0 {
		return 0
	}
	return max(llm.Amount(dollars), 1)
}
