package email

import "strings"

// isAutomatic says why a mail is not from a person; empty: it is. Two programs that
// answer each other's mail never end.
func (c *Channel) isAutomatic(r *reading) string {
	h, from := r.header, r.received.From
	if submitted := word(h.Get("Auto-Submitted")); submitted != "" && submitted != "no" {
		return "Auto-Submitted: " + submitted
	}
	switch precedence := word(h.Get("Precedence")); precedence {
	case "bulk", "list", "junk", "auto_reply":
		return "Precedence: " + precedence
	}
	for _, key := range []string{"List-Id", "X-Loop", "X-Autoreply", "X-Autorespond"} {
		if h.Has(key) {
			return key
		}
	}
	if h.Has("Return-Path") && strings.Trim(h.Get("Return-Path"), "<> \t") == "" {
		return "empty Return-Path"
	}
	name, _, _ := strings.Cut(from, "@")
	switch {
	case from == c.settings.Address:
		return "from this account"
	case name == "mailer-daemon" || name == "postmaster":
		return "from " + name
	}
	return ""
}

// word is the value of a header without parameters and comments.
func word(value string) string {
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, "(")
	return strings.ToLower(strings.TrimSpace(value))
}
