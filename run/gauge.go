package run

import (
	"cmp"
	"maps"

	"agenthost/llm"
)

// A Gauge corrects the estimates of a session by what its models have counted.
type Gauge struct {
	Model string `json:"model,omitempty"` // that answered last, behind its provider
	// Tokens is what it counted in the conversation then, and Guess what was
	// estimated for the same. Both are 0 once that conversation is summed up.
	Tokens int `json:"tokens,omitempty"`
	Guess  int `json:"guess,omitempty"`
	Answer int `json:"answer,omitempty"` // tokens of the answer that comes next
	// Scale is, by model, how many tokens an estimated thousand has been, of
	// late more than long ago.
	Scale map[string]int `json:"scale,omitempty"`
}

// What an estimate that fits makes of a thousand, and how far it may be out.
const (
	thousand           = 1000
	leastScale         = thousand / 4
	mostScale          = thousand * 4
	uncounted          = 8192 // tokens that no estimate sees, say a provider's own preamble
	oneNewInSo, allNew = 4, 1 // a quarter of a scale is news
)

// measure takes down what a model has counted. What is out of all proportion is
// a mistake of its server.
func (s *State) measure(e *Event) {
	if e.Guess <= 0 || e.Usage == nil || e.Error != nil {
		return
	}
	tokens := int(e.Usage.Input)
	if tokens*4 < e.Guess || tokens > 4*e.Guess+uncounted {
		return
	}
	model := e.Provider + "/" + e.Model
	scale := min(max(tokens*thousand/e.Guess, leastScale), mostScale)
	share := allNew
	before, known := s.Gauge.Scale[model]
	if known {
		share = oneNewInSo
	}
	if scale = before + (scale-before)/share; scale != before {
		scales := make(map[string]int, len(s.Gauge.Scale)+1) // older states keep theirs
		maps.Copy(scales, s.Gauge.Scale)
		scales[model] = scale
		s.Gauge.Scale = scales
	}
	s.Gauge.Model, s.Gauge.Tokens, s.Gauge.Guess, s.Gauge.Answer = model, tokens, e.Guess, int(e.Usage.Output)
}

// follow counts the answer to what was measured in, if m is that.
func (g *Gauge) follow(m *llm.Message) {
	if g.Answer > 0 && m.Role == llm.Assistant {
		g.Tokens += g.Answer
		g.Guess += estimate(m)
	}
	g.Answer = 0
}

// forget drops the measure of a conversation that is no more; the scales stay.
func (g *Gauge) forget() { g.Tokens, g.Guess, g.Answer = 0, 0, 0 }

// scaled is how many tokens of the model make what Estimate says.
func (g *Gauge) scaled(guess int) int { return guess * g.scale() / thousand }

// guess is what Estimate says of so many tokens of the model.
func (g *Gauge) guess(tokens int) int { return tokens * thousand / g.scale() }

func (g *Gauge) scale() int { return cmp.Or(g.Scale[g.Model], thousand) }

// read is how many tokens the model has to read when guess is estimated: what
// it counted last, and only the rest as an estimate.
func (g *Gauge) read(guess int) int {
	switch {
	case g.Tokens == 0:
		return g.scaled(guess)
	case guess < g.Guess: // less is sent than then
		return g.Tokens * guess / g.Guess
	}
	return g.Tokens + g.scaled(guess-g.Guess)
}
