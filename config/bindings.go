package config

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/internal/yamldoc"
	"agenthost/session"
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

func (k *checker) checkChannels(at string, a Agent) {
	for i, b := range a.Channels {
		p := fmt.Sprintf("%s[%d]", at, i)
		k.required(p+".channel", b.Channel, "channel", "the binding")
		k.token(p+".channel", "channel", b.Channel)
		if b.Instance != "*" {
			k.token(p+".instance", "instance", b.Instance)
		}
		k.checkBindingAccount(p, b)
		k.oneOf(p+".queue", string(b.Queue), queues...)
		if queue := cmp.Or(b.Queue, a.Session.Queue, session.Followup); b.Debounce > 0 && queue != session.Collect {
			k.Fault(p+".debounce", "debounce with queue %s; want queue: collect", queue)
		}
		k.checkDebounceMax(p+".debounce_max", a, b)
		k.checkOverrides(p, a, b)
		k.checkStale(p+".stale", b)
		k.checkSenders(p+".senders", b.Senders)
		k.checkRate(p+".rate", b.Rate)
		for j, other := range a.Channels[:i] {
			if overlap(b, other) {
				k.Fault(p, "duplicate binding (first at %s); keep one", k.NodeAt(fmt.Sprintf("%s[%d]", at, j)).At)
				break
			}
		}
	}
}

// checkDebounce checks the debounce of all bindings that have none of their own.
func (k *checker) checkDebounce(p string, a Agent) {
	collects := func(b agents.Binding) bool { return b.Queue == session.Collect }
	s := a.Session
	if s.Debounce > 0 && s.Queue != session.Collect && !slices.ContainsFunc(a.Channels, collects) {
		k.Fault(p+".debounce", "debounce with queue %s; want queue: collect", cmp.Or(s.Queue, session.Followup))
	}
	switch {
	case s.DebounceMax > 0 && s.Debounce == 0:
		k.Fault(p+".debounce_max", "debounce_max without debounce; add debounce: 2s")
	case s.DebounceMax > 0 && s.DebounceMax < s.Debounce:
		k.Fault(p+".debounce_max", "debounce_max %s is below debounce %s; want more", s.DebounceMax, s.Debounce)
	}
}

func (k *checker) checkDebounceMax(p string, a Agent, b agents.Binding) {
	if queue := cmp.Or(b.Queue, a.Session.Queue, session.Followup); b.DebounceMax > 0 && queue != session.Collect {
		k.Fault(p, "debounce_max with queue %s; want queue: collect", queue)
	}
	switch {
	case b.DebounceMax > 0 && cmp.Or(b.Debounce, a.Session.Debounce) == 0:
		k.Fault(p, "debounce_max without debounce; add debounce: 2s")
	case b.DebounceMax > 0 && b.DebounceMax < cmp.Or(b.Debounce, a.Session.Debounce):
		k.Fault(p, "debounce_max %s is below debounce %s; want more", b.DebounceMax, cmp.Or(b.Debounce, a.Session.Debounce))
	}
}

// overlap reports whether a message could come by both bindings. The bare
// channel and "*" do not overlap.
func overlap(a, b agents.Binding) bool {
	if a.Channel != b.Channel || a.Channel == "" {
		return false
	}
	return a.Instance == b.Instance || a.Instance != "" && b.Instance != "" && (a.Instance == "*" || b.Instance == "*")
}

// The words for what becomes of a message that is stale.
var staleWays = []string{agents.StaleAnswer, agents.StaleDrop, agents.StaleSummarise}

func (k *checker) checkStale(at string, b agents.Binding) {
	if !k.Set(at) {
		return
	}
	k.oneOf(at+".do", b.Stale.Do, staleWays...)
	if b.Stale.Do == "" {
		k.Fault(at, "stale has no do; add do: answer, drop or summarise")
	}
	if b.Stale.After <= 0 {
		k.Fault(at, "stale has no after; add after: with an age such as 1h")
	}
}
