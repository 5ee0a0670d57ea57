package profile

import (
	"strings"
	"time"

	"agenthost/agents"
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
