package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// A wait is what a log says of a call that waited for a person or for another agent.
type wait struct {
	asked           run.Event
	times, answered int
	answer          run.Event
}

// A task is what the log of the agent says that another one has asked.
type task struct {
	runs    map[string]bool
	results []bus.Route
}

// waits takes what counts of an event for calls that wait.
func (c *checker) waitEvent(log, runID string, e run.Event) {
	switch e.Type {
	case run.ApprovalAsked, run.QuestionAsked, run.Delegated:
		w := c.wait(runID + "." + e.Call)
		w.asked = e
		w.times++
	case run.ApprovalAnswered, run.QuestionAnswered:
		w := c.wait(runID + "." + e.Call)
		w.answer = e
		w.answered++
	case run.Replied:
		route := bus.Route{}
		if e.Reply != nil && strings.HasPrefix(e.Reply.Subject, bus.RoutePrefix) && json.Unmarshal(e.Reply.Envelope, &route) == nil {
			k := c.task(log)
			k.results = append(k.results, route)
		}
	case run.Started:
		if e.Trigger == run.ByDelegate {
			c.task(log).runs[e.Run] = true
		}
	}
}

func (c *checker) wait(id string) *wait {
	if c.waits[id] == nil {
		c.waits[id] = &wait{}
	}
	return c.waits[id]
}

func (c *checker) task(log string) *task {
	if c.tasks[log] == nil {
		c.tasks[log] = &task{runs: map[string]bool{}}
	}
	return c.tasks[log]
}

// everyWait sees that what was asked is settled once, by what was said of it.
func (c *checker) everyWait() {
	for _, id := range slices.Sorted(maps.Keys(c.calls)) {
		tool, _, _ := strings.Cut(c.calls[id].purpose, " ")
		if c.waits[id] == nil && c.ByCall[id] > 0 && slices.Contains(c.Approved, tool) {
			c.violation("call %s (%s) had an effect and nobody was asked", id, c.calls[id].purpose)
		}
	}
	by := map[string]string{} // calls, by the input that answers them
	for _, id := range slices.Sorted(maps.Keys(c.waits)) {
		w := c.waits[id]
		k := c.call(id)
		if w.times != 1 || w.answered > 1 {
			c.violation("call %s (%s) was asked %d times and answered %d times", id, k.purpose, w.times, w.answered)
		}
		if in := w.answer.Input; in != nil {
			if other, ok := by[in.ID]; ok {
				c.violation("%s answers the calls %s and %s", in.ID, other, id)
			}
			by[in.ID] = id
			c.meant(id, w)
		}
		c.outcome(id, w, k)
		if w.asked.Type == run.Delegated {
			c.delegated(id, w, k)
		}
	}
}

// words are how a person answers.
var words = map[string]string{"approve": run.Approve, "deny": run.Deny}

// meant holds an answer against what its input says.
func (c *checker) meant(id string, w *wait) {
	in, ok := c.inputs[w.answer.Input.ID]
	if !ok || w.answer.Door == bus.DoorDeadline {
		return // by another door, or the time of the task was over before the answer was read
	}
	want, known := words[in.Text]
	if !known {
		want = in.Text
	}
	if w.answer.Answer != want {
		c.violation("call %s: %s says %q, taken for %q", id, in.ID, in.Text, w.answer.Answer)
	}
}

// outcome holds what became of a call that had to be approved against the approval.
func (c *checker) outcome(id string, w *wait, k *call) {
	if w.asked.Type != run.ApprovalAsked || w.asked.For == run.Budget {
		return
	}
	approved := w.answered > 0 && w.answer.Answer == run.Approve
	switch {
	case !approved && c.ByCall[id] > 0:
		c.violation("call %s (%s) had an effect and was not approved", id, k.purpose)
	case !approved && k.last.OK:
		c.violation("call %s (%s) has a result and was not approved", id, k.purpose)
	case w.answered == 0 && k.finished > 0 && k.last.Source != run.FromEnd:
		c.violation("call %s (%s) ended by %q and has no answer", id, k.purpose, k.last.Source)
	}
}

// delegated holds the result of a task against what the agent has said that was asked.
func (c *checker) delegated(id string, w *wait, k *call) {
	agent, _, _ := strings.Cut(w.asked.CorrelationID, ".")
	log := w.asked.To + "." + session.SID(w.asked.To, session.Route(agent, w.asked.CorrelationID))
	t := c.task(log)
	if len(t.runs) > 1 || len(t.results) > 1 {
		c.violation("task %s of call %s has %d runs and %d results", log, id, len(t.runs), len(t.results))
	}
	if k.last.Source != run.FromDelegate || !k.last.OK {
		return
	}
	if len(t.results) != 1 || t.results[0].Text != k.last.Result {
		c.violation("call %s has the result %q, and the log of its task %s %d others", id, k.last.Result, log, len(t.results))
	}
}
