package inflight

import (
	"slices"

	"agenthost/agents/internal/message"
	"agenthost/run"
)

// IsErased reports whether an input of the session is one that the host has to forget.
func (c Session) IsErased(o message.Origin, in run.Input) bool {
	if !c.Agent.Parts.Erasures.Any() { // as mostly
		return false
	}
	return c.Agent.Parts.Erasures.Holds(o.Sent(c.Agent.ID, c.Key, in.Seq))
}

// WorksOnErased reports whether the run has an input that the host has to forget, and that the log
// does not have.
func (t *Run) WorksOnErased() bool {
	if !t.Agent.Parts.Erasures.Any() {
		return false
	}
	return slices.ContainsFunc(t.AllInputs(), func(in run.Input) bool {
		if _, logged := t.Journal.Seen(in.ID); logged {
			return false
		}
		o, err := message.ReadOrigin(in)
		return err == nil && t.IsErased(o, in)
	})
}
