package llm

import (
	"cmp"
	"slices"
)

// requestFor is req as the provider of l may see it: what other providers
// thought, and what they attached for themselves, is not for it.
func requestFor(l Link, req Request) Request {
	req.Model = cmp.Or(l.Model, req.Model)
	foreign := func(p Part) bool { return foreignTo(l.Name, p) }
	if !slices.ContainsFunc(req.Messages, func(m Message) bool { return slices.ContainsFunc(m.Parts, foreign) }) {
		return req
	}
	own := make([]Message, 0, len(req.Messages))
	for _, m := range req.Messages {
		if slices.ContainsFunc(m.Parts, foreign) {
			m.Parts = withoutForeign(l.Name, m.Parts)
			if len(m.Parts) == 0 {
				continue // it only thought
			}
		}
		own = append(own, m)
	}
	req.Messages = own
	return req
}

// foreignTo reports whether p carries something only another provider than
// the named one can use. Reasoning of unknown origin is foreign to all.
func foreignTo(provider string, p Part) bool {
	if p.Provider == provider && provider != "" {
		return false
	}
	return p.Type == Reasoning || p.Provider != "" || p.Meta != nil
}

func withoutForeign(provider string, parts []Part) []Part {
	var own []Part
	for _, p := range parts {
		if foreignTo(provider, p) {
			if p.Type == Reasoning {
				continue
			}
			p.Provider, p.Meta = "", nil
		}
		own = append(own, p)
	}
	return own
}
