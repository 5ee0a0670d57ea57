package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// A call is what a log says of a tool call.
type call struct {
	purpose             string // the tool and its arguments
	safe                bool
	requested, finished int
	last                run.Event
}

// event takes what counts of one event of a log.
func (c *checker) event(log, runID string, e run.Event) {
	if e.Input != nil {
		c.noted[e.Input.ID] = true
	}
	c.waitEvent(log, runID, e)
	switch e.Type {
	case run.ModelCalled:
		if e.Error != nil && e.Error.Code == llm.CodeCancelled && e.Cost == 0 && e.MS >= c.Slow.Milliseconds() {
			c.Unheard++
		}
	case run.Started:
		c.started[e.Run]++
		for _, in := range e.Inputs {
			c.join(log, e.Run, in)
		}
	case run.Finished:
		c.over[runID]++
	case run.InputWithdrawn:
		c.withdrawn[e.Input.ID] = true
	case run.Replied, run.InputRefused, run.InputPassedOn, run.OperatorSaid:
		if e.Reply != nil && strings.HasPrefix(e.Reply.Subject, bus.OutboundPrefix) {
			c.logged[e.Reply.ID] = true
		}
	case run.ToolRequested:
		k := c.call(runID + "." + e.Call)
		k.requested++
		k.purpose, k.safe = e.Name+" "+canonical(e.Args), e.Rerun == run.SafeRerun
	case run.ToolFinished:
		k := c.call(runID + "." + e.Call)
		k.finished++
		k.last = e
	}
}

// join notes that an input is in a run: in one only.
func (c *checker) join(log, runID string, in run.Input) {
	c.noted[in.ID] = true
	key := log + " " + in.ID
	if other, ok := c.runOf[key]; ok && other != runID {
		c.violation("input %s is in the runs %s and %s", in.ID, other, runID)
	}
	c.runOf[key] = runID
	route := bus.Route{}
	if !strings.HasPrefix(in.Subject, bus.DuePrefix) || json.Unmarshal(in.Envelope, &route) != nil || route.Due.IsZero() {
		return
	}
	tick := log + " " + route.From + " " + route.Due.UTC().String()
	if other, ok := c.due[tick]; ok && other != runID {
		c.violation("what was due at %s fired twice, in the runs %s and %s", route.Due, other, runID)
	} else if !ok {
		c.Ticks++
		c.dues = append(c.dues, route.Due)
	}
	c.due[tick] = runID
}

// longestPause is the longest time between two moments at which something was due, and fired.
func longestPause(dues []time.Time) (longest time.Duration) {
	slices.SortFunc(dues, time.Time.Compare)
	for n := range len(dues) - 1 {
		longest = max(longest, dues[n+1].Sub(dues[n]))
	}
	return longest
}

// everyFiring sees that what was due is in a log.
func (c *checker) everyFiring() {
	for _, msg := range c.Streams.Due {
		route := bus.Route{}
		if json.Unmarshal(msg.Data, &route) == nil && route.Kind == bus.RouteSchedule && !c.noted[route.ID] {
			c.violation("what was due at %s is in no log: %s", route.Due, route.ID)
		}
	}
}

func (c *checker) call(id string) *call {
	if c.calls[id] == nil {
		c.calls[id] = &call{}
	}
	return c.calls[id]
}

// everyCall holds the calls of the logs against the effects that tools have
// counted: at most one of a call, and one if it has a result; several only where
// it may run again.
func (c *checker) everyCall() {
	c.Calls = len(c.calls)
	safe := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(c.calls)) {
		k := c.calls[id]
		safe[k.purpose] = safe[k.purpose] || k.safe
		if k.requested != 1 || k.finished != 1 {
			c.violation("call %s (%s) was requested %d times and finished %d times", id, k.purpose, k.requested, k.finished)
		}
		if k.last.Source == run.FromRecovery {
			c.Unknown++
		}
		if strings.HasPrefix(k.purpose, "bill.") {
			c.billed(id, k)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.ByCall)) {
		c.Effects += c.ByCall[id]
		if c.calls[id] == nil {
			c.violation("call %s had an effect and is in no log", id)
		}
	}
	for _, purpose := range slices.Sorted(maps.Keys(c.ByPurpose)) {
		if n := c.ByPurpose[purpose]; n > 1 && !safe[purpose] {
			c.violation("%s had %d effects", purpose, n)
		}
	}
}

func (c *checker) billed(id string, k *call) {
	switch n := c.ByCall[id]; {
	case !k.safe && n > 1:
		c.violation("call %s (%s) had %d effects", id, k.purpose, n)
	case k.last.OK && k.last.Source == run.FromTool && n == 0:
		c.violation("call %s (%s) has a result and had no effect", id, k.purpose)
	}
}

// canonical is JSON in the one form that equal values share.
func canonical(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return string(data)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(data)
	}
	return string(text)
}
