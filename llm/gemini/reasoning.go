package gemini

import (
	"strings"

	"agenthost/llm"
)

// A thinking says how much to think and to let us see it. Up to Gemini 2.5 that
// is a number of tokens, since then a level; a model refuses the other's.
type thinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

// thinkingOf is nil for models that would refuse to be asked, as those that do
// not think do, unless the operator insists on an effort.
func thinkingOf(model string, effort llm.Effort) *thinking {
	switch {
	case effort == "" && !thinks(model):
		return nil
	case effort == "":
		return &thinking{Include: true}
	case byBudget(model):
		return &thinking{Include: effort != llm.EffortNone, Budget: new(budget(model, effort))}
	}
	return &thinking{Include: effort != llm.EffortNone, Level: level(model, effort)}
}

// thinks reports whether a model is known to think.
func thinks(model string) bool {
	return strings.HasPrefix(model, "gemini-") && !old(model) &&
		!strings.Contains(model, "-image") && !strings.Contains(model, "-tts") && !strings.Contains(model, "-live")
}

func old(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2.0")
}

func byBudget(model string) bool {
	return strings.HasPrefix(model, "gemini-2.5") || old(model)
}

// signs reports whether a model refuses its own calls without a signature.
func signs(model string) bool {
	return strings.HasPrefix(model, "gemini-") && !byBudget(model)
}

// budget stays inside the bounds of all models that have one, except that Pro
// cannot do without thinking: it gets the least it takes.
func budget(model string, effort llm.Effort) int {
	switch effort {
	case llm.EffortNone:
		if strings.Contains(model, "-pro") {
			return 128
		}
		return 0
	case llm.EffortLow:
		return 1024
	case llm.EffortMedium:
		return 8192
	}
	return 24576
}

// level is the nearest that the model has: no Pro can think as little as
// minimal, and the first one had nothing between low and high.
func level(model string, effort llm.Effort) string {
	switch {
	case effort == llm.EffortNone && strings.Contains(model, "flash"):
		return "MINIMAL"
	case effort == llm.EffortNone, effort == llm.EffortLow:
		return "LOW"
	case effort == llm.EffortMedium && !strings.HasPrefix(model, "gemini-3-pro"):
		return "MEDIUM"
	}
	return "HIGH"
}
