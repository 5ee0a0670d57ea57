package anthropic

import (
	"regexp"

	"agenthost/llm"
)

const (
	// defaultAnswer bounds an answer when the configuration does not, as the API
	// requires a bound; the budget for reasoning comes on top.
	defaultAnswer = 8192

	leastBudget = 1024 // the API's
)

// budgets are how many tokens a model may think. The highest leaves room for an
// answer within the 32000 that the smallest model that thinks can give.
var budgets = map[llm.Effort]int{
	llm.EffortLow:    2048,
	llm.EffortMedium: 8192,
	llm.EffortHigh:   16384,
}

// takesBudget knows the models of Anthropic that think to a budget. Those from
// 4.6 on find their own measure, and newer ones refuse a budget.
var takesBudget = regexp.MustCompile(`claude-(?:[123][-.]|(?:opus|sonnet|haiku)-4(?:$|[-.@](?:[0-5]|20\d{6})(?:\D|$)))`)

var isClaude = regexp.MustCompile(`claude-`)

// adapts reports whether the model finds its own measure of thinking. Other
// servers' models take a budget, if they know the field at all.
func adapts(model string) bool { return isClaude.MatchString(model) && !takesBudget.MatchString(model) }

type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"` // newer models say nothing of what they think unless asked
}

type outputConfig struct {
	Effort llm.Effort `json:"effort"`
}

// think sets what bounds the answer and the thinking of r, whose model is set;
// may is whether the API would take a budget for it.
func (r *wireRequest) think(cfg llm.Config, may bool) {
	budget := budgets[cfg.Effort]
	r.MaxTokens = cfg.MaxTokens
	if r.MaxTokens == 0 {
		r.MaxTokens = defaultAnswer + budget
	}
	switch {
	case adapts(r.Model) && budget > 0:
		r.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		r.Output = &outputConfig{cfg.Effort}
	case adapts(r.Model) && cfg.Effort == llm.EffortNone:
		r.Thinking = &thinking{Type: "disabled"}
	case budget > 0 && may:
		if budget >= r.MaxTokens {
			budget = r.MaxTokens / 2
		}
		if budget >= leastBudget {
			r.Thinking = &thinking{Type: "enabled", Budget: budget}
		}
	}
	if r.Thinking == nil || r.Thinking.Type == "disabled" {
		r.Temperature = cfg.Temperature // one that thinks takes none
	}
}
