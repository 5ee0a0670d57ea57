package config

import (
	"fmt"
	"path"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/internal/yamldoc"
	"agenthost/tools"

	"golang.org/x/text/language"
)

// checkOverrides checks what a binding has of its own.
func (k *checker) checkOverrides(at string, a Agent, b agents.Binding) {
	k.checkModelNames(at+".model", b.Model)
	for i, glob := range b.Tools {
		p := fmt.Sprintf("%s.tools[%d]", at, i)
		had := func(own string) bool { return tools.Overlap(own, glob) }
		switch _, err := path.Match(glob, ""); {
		case err != nil || glob == "":
			k.Fault(p, `tool %s: want a name or a pattern such as "files.*"`, k.Quote(p))
		case len(a.Skills) > 0 && tools.Overlap(tools.SkillTool, glob) || slices.ContainsFunc(a.Tools, had):
		case len(a.Tools) == 0:
			k.Fault(p, "tool %s: the agent has no tools, and a binding only takes away", k.Quote(p))
		default:
			k.Fault(p, "tool %s: the agent does not have it, and a binding only takes away; %s", k.Quote(p), yamldoc.Suggest(glob, a.Tools))
		}
	}
	if b.Language != "" {
		if _, err := language.Parse(b.Language); err != nil {
			k.Fault(at+".language", "language %s: want a code such as fr or pt-BR", k.Quote(at+".language"))
		}
	}
	k.checkBounds(at+".limits", a.Limits.WithDefaults(), b.Limits)
}

// checkBounds reports limits of a binding that are above those of its agent.
func (k *checker) checkBounds(at string, most agents.Limits, own agents.BindingLimits) {
	for _, l := range []struct {
		key       string
		own, most float64
		said      string
	}{
		{"model_calls", float64(own.ModelCalls), float64(most.ModelCalls), fmt.Sprint(most.ModelCalls)},
		{"tools", float64(own.Tools), float64(most.Tools), fmt.Sprint(most.Tools)},
		{"run_timeout", float64(own.RunTimeout), float64(most.RunTimeout), short(most.RunTimeout)},
		{"approval_timeout", float64(own.ApprovalTimeout), float64(most.ApprovalTimeout), short(most.ApprovalTimeout)},
		{"budget.run", own.Budget.Run, most.Budget.Run, fmt.Sprint(most.Budget.Run)},
		{"budget.session", own.Budget.Session, most.Budget.Session, fmt.Sprint(most.Budget.Session)},
	} {
		if p := at + "." + l.key; l.most > 0 && l.own > l.most {
			k.Fault(p, "%s %s: the agent has %s; want less, or more for the agent", k.Key(p), k.Quote(p), l.said)
		}
	}
}

// short is a duration as people write it: 24h and not 24h0m0s.
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
