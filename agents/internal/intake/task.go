package intake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// ofShadow refuses a task for a shadow, from any sender.
func (i *Intake) ofShadow() *run.Error {
	return &run.Error{Code: llm.CodeToolDenied, Message: i.Agent + " is a shadow of " + i.Now().Config.ShadowOf + " and takes no work."}
}

// RefuseTask says why this agent does not take a task; nil when it does.
func (i *Intake) RefuseTask(task *bus.Route) *run.Error {
	deny := func(format string, args ...any) *run.Error {
		return &run.Error{Code: llm.CodeToolDenied, Message: fmt.Sprintf(format, args...)}
	}
	accepts := i.Now().Config.Accepts
	switch {
	case i.Now().Shadow():
		return i.ofShadow()
	case accepts != nil && !accepted(accepts, task):
		return deny("%s does not take work from %q.", i.Agent, task.From)
	case slices.Contains(task.Chain, i.Agent):
		return deny("delegation cycle: %s already waits for this.", i.Agent)
	case len(task.Chain) > profile.MaxDepth:
		return deny("This task has passed through too many agents.")
	case !task.Deadline.IsZero() && time.Now().After(task.Deadline):
		return &run.Error{Code: llm.CodeRunTimeout, Message: "The time for this task was over before it began."}
	}
	return nil
}

// accepted reports whether an agent that accepts the work of some takes a task. Among
// agents its sender counts, which a host has signed. A program may give work to each
// agent that NATS lets it publish to, but not under the name of one that is accepted;
// so may the operator, whose tasks come through a door.
func accepted(accepts []string, task *bus.Route) bool {
	if name, program := strings.CutPrefix(task.From, bus.ProgramPrefix); program {
		return !slices.Contains(accepts, name)
	}
	return task.From == "" || task.Door != "" || profile.Allows(accepts, task.From)
}
