package llm

import "cmp"

// Effort is how much a model should think before it answers.
type Effort string

// The efforts.
const (
	EffortNone   Effort = "none"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// requestFor is req as the provider of l may see it: what other providers
// thought, and what they attached for themselves, is not for it.
func requestFor(l Link, req Request) Request {
	req.Model = cmp.Or(l.Model, req.Model)
	if !req.Look().foreignTo(l.Name) {
		return req
	}
	own := make([]Message, 0, len(req.Messages))
	for i, m := range req.Messages {
		if contentsOf(req.Messages[i : i+1]).foreignTo(l.Name) {
			m.Parts = withoutForeign(l.Name, m.Parts)
			if len(m.Parts) == 0 {
				continue // it only thought
			}
		}
		own = append(own, m)
	}
	req.Messages, req.Contents = own, Contents{}
	return req
}

// foreignTo reports whether p carries something only another provider than
// the named one can use. Reasoning of unknown origin is foreign to all.
func foreignTo(provider string, p *Part) bool {
	return owned(p) && (p.Provider != provider || provider == "")
}

// owned reports whether p carries something that only one provider can use.
func owned(p *Part) bool { return p.Type == Reasoning || p.Provider != "" || p.Meta != nil }

func withoutForeign(provider string, parts []Part) []Part {
	var own []Part
	for _, p := range parts {
		if foreignTo(provider, &p) {
			if p.Type == Reasoning {
				continue
			}
			p.Provider, p.Meta = "", nil
		}
		own = append(own, p)
	}
	return own
}
