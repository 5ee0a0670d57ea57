package runner

import (
	"agenthost/agents"
	"agenthost/run"
)

// Describe says what the run is doing.
func (t *Runner) Describe(s *agents.RunStatus) {
	s.Run, s.Model = t.ID, t.Entry()
	t.Journal.View(func(state run.State) {
		if state.Run == nil || state.Run.ID != t.ID {
			s.Phase = agents.PhaseStoring
			return
		}
		s.Phase, s.Trigger, s.Attempt = string(state.Phase), state.Run.Trigger, state.Run.Attempt
		s.Since = state.Run.Started.UTC()
		for _, in := range state.Run.Inputs[max(0, len(state.Run.Inputs)-agents.MostInputs):] {
			s.Inputs = append(s.Inputs, in.OwnID())
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
