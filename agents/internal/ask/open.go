package ask

import (
	"agenthost/run"
	"agenthost/session"
)

// A wait is what a session waits for.
type wait struct {
	key  session.Key // of the session
	open *int        // that it is counted in; nil: it waits for no person
}

// forPerson is what an agent wants of a person: run.ForApproval or run.ForQuestion.
type forPerson struct{ agent, kind string }

// count counts w, and returns where; nil for what waits for no person.
func (q *Index) count(w Waiting) *int {
	if w.Kind == run.ForDelegate {
		return nil
	}
	of := forPerson{w.Agent, w.Kind}
	if q.open[of] == nil {
		q.open[of] = new(int)
	}
	*q.open[of]++
	return q.open[of]
}

// Approvals is how many approvals of an agent wait for a person, in the whole fleet.
func (q *Index) Approvals(agent string) int { return q.counted(agent, run.ForApproval) }

// Questions is how many questions of an agent do.
func (q *Index) Questions(agent string) int { return q.counted(agent, run.ForQuestion) }

func (q *Index) counted(agent, kind string) int {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if n := q.open[forPerson{agent, kind}]; n != nil {
		return *n
	}
	return 0
}
