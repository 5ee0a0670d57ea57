package ask_test

import (
	"testing"

	"agenthost/agents/internal/ask"
	"agenthost/internal/texts"
	"agenthost/run"
)

// An approval is given by a word for it, with its number and how far it reaches, each once: any
// word besides may mean something else, so that it approves nothing.
func TestWordsThatApprove(t *testing.T) {
	t.Parallel()
	calls := []run.Call{{ID: "a", Asked: run.ForApproval, Number: 1}, {ID: "b", Asked: run.ForApproval, Number: 2}}
	for text, want := range map[string]struct{ id, answer, scope string }{
		"approve":             {"a", run.Approve, ask.ScopeOnce},
		" Yes! ":              {"a", run.Approve, ask.ScopeOnce},
		"approve 2":           {"b", run.Approve, ask.ScopeOnce},
		"#2: approve":         {"b", run.Approve, ask.ScopeOnce},
		"session 2 approve":   {"b", run.Approve, ask.ScopeSession},
		"approve always":      {"a", run.Approve, ask.ScopeAlways},
		"no 2.":               {"b", run.Deny, ask.ScopeOnce},
		"":                    {},
		"...":                 {},
		"2":                   {},
		"2 session":           {},
		"always":              {},
		"approve nothing":     {},
		"yes, but":            {},
		"never approve":       {},
		"approve tomorrow 2":  {},
		"approve deny":        {},
		"yes no":              {},
		"no yes":              {},
		"approve approve":     {},
		"approve 1 2":         {},
		"approve 2 2":         {},
		"approve once always": {},
		"approve 0":           {},
		"approve -2":          {},
		"approve 2.5":         {},
		"approve 3":           {},
		"approve 2 session 2": {},
	} {
		call, sig, ok := ask.Pick(texts.Book{}, calls, text, false)
		if ok != (want.id != "") || call.ID != want.id || ok && (sig.Answer != want.answer || sig.Scope != want.scope) {
			t.Errorf("%q: %s is %q, %q, %t; want %+v", text, call.ID, sig.Answer, sig.Scope, ok, want)
		}
	}
}
