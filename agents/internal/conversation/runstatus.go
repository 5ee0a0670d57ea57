package conversation

import (
	"agenthost/agents"
	"agenthost/run"
)

// RunStatus is the run of c, if one is at work or about to begin.
func (c *Conversation) RunStatus() (s agents.RunStatus, ok bool) {
	c.mu.Lock()
	t, since, running, over := c.current, c.began, c.running, c.over
	c.mu.Unlock()
	s = agents.RunStatus{Agent: c.Agent.ID, Session: string(c.Key), Since: since.UTC(), Phase: agents.PhaseStarting}
	switch {
	case t != nil:
		t.describe(&s)
	case over:
		s.Phase = agents.PhaseStoring
	}
	return s, running || t != nil
}

// describe says what the run is doing.
func (t *runner) describe(s *agents.RunStatus) {
	s.Run, s.Model = t.ID, t.Entry()
	t.Journal.View(func(state run.State) {
		if state.Run == nil || state.Run.ID != t.ID {
			s.Phase = agents.PhaseStoring
			return
		}
		s.Phase, s.Trigger, s.Attempt = string(state.Phase), state.Run.Trigger, state.Run.Attempt
		s.Since = state.Run.Started.UTC()
		for _, in := range state.Run.Inputs[max(0, len(state.Run.Inputs)-agents.MostInputs):] {
			s.Inputs = append(s.Inputs, in.ID)
		}
		for _, call := range state.Run.Calls {
			switch {
			case call.Done:
			case call.Asked == run.ForDelegate:
				s.For = append(s.For, call.To)
			case call.Asked != "":
				s.For = append(s.For, call.Asked)
			default:
				s.For = append(s.For, call.Name)
			}
		}
	})
}
