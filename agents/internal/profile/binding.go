package profile

import (
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/bus"
)

// narrow is l, with what b has less of.
func narrow(l agents.Limits, b agents.BindingLimits) agents.Limits {
	l.ModelCalls = less(b.ModelCalls, l.ModelCalls)
	l.Tools = less(b.Tools, l.Tools)
	l.RunTimeout = less(b.RunTimeout, l.RunTimeout)
	l.ApprovalTimeout = less(b.ApprovalTimeout, l.ApprovalTimeout)
	l.Budget.Run = less(b.Budget.Run, l.Budget.Run)
	l.Budget.Session = less(b.Budget.Session, l.Budget.Session)
	return l
}

// less is the smaller of two bounds, of which 0 is none.
func less[N int | time.Duration | float64](n, most N) N {
	if n == 0 || most == 0 {
		return max(n, most)
	}
	return min(n, most)
}

// boundBy is c as it holds for the runs of b.
func boundBy(c agents.Config, b agents.Binding) agents.Config {
	if len(b.Model) > 0 {
		c.Model = b.Model
	}
	c.Limits = narrow(c.Limits, b.Limits)
	return c
}

// takesInstance reports whether what comes from an instance of its channel is for b.
func takesInstance(b *agents.Binding, instance string) bool {
	return b.Instance == instance || b.Instance == everyInstance && instance != "" && !strings.Contains(instance, ".")
}

// everyInstance is the instance of a Binding to all that have a name.
const everyInstance = "*"

// Bound is what runs go by whose messages come by one binding.
type Bound struct {
	Subject string
	Profile *Profile
}

// By is the profile of the runs whose messages come by subject.
func (p *Profile) By(subject string) *Profile {
	if subject == CanarySubject && p.canary != nil {
		return p.canary()
	}
	for _, b := range p.Bound {
		if bus.Matches(b.Subject, subject) {
			return b.Profile
		}
	}
	return p
}

// Binding is the one that brings what comes by the subject of a channel; nil when none does.
func (p *Profile) Binding(subject string) *agents.Binding {
	return bindingOf(p.Bindings, subject)
}

func bindingOf(list []agents.Binding, subject string) *agents.Binding {
	channel, instance, _ := bus.Channel(subject)
	for i := range list {
		if b := &list[i]; b.Channel == channel && takesInstance(b, instance) {
			return b
		}
	}
	return nil
}
