package llm

import "cmp"

// requestFor is req as the provider of l may see it: what other providers
// thought, and what they attached for themselves, is not for it.
func requestFor(l Link, req Request) Request {
	req.Model = cmp.Or(l.Model, req.Model)
	if !foreignAmong(l.Name, req.Messages) {
		return req
	}
	own := make([]Message, 0, len(req.Messages))
	for i, m := range req.Messages {
		if foreignAmong(l.Name, req.Messages[i:i+1]) {
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

// foreignAmong reports whether a part of the messages is foreign to the
// provider. It looks at each of a long conversation for every call, so it
// copies none.
func foreignAmong(provider string, messages []Message) bool {
	for i := range messages {
		for k := range messages[i].Parts {
			if foreignTo(provider, &messages[i].Parts[k]) {
				return true
			}
		}
	}
	return false
}

// foreignTo reports whether p carries something only another provider than
// the named one can use. Reasoning of unknown origin is foreign to all.
func foreignTo(provider string, p *Part) bool {
	if p.Provider == provider && provider != "" {
		return false
	}
	return p.Type == Reasoning || p.Provider != "" || p.Meta != nil
}

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
