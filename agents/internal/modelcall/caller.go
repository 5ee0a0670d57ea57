// Package modelcall calls the models of an agent for a run, or the behaviour in their place:
// hooks before and after, budgets, images, answers in a format, compaction, the stream.
package modelcall

import (
	"sync/atomic"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/stream"
	"agenthost/run"
)

// A Caller calls the model for one run, one call at a time.
type Caller struct {
	*inflight.Run
	Told *atomic.Bool    // operators know that the budget of the session is exceeded
	Word func(*run.Wait) // numbers the question whether more may be spent, and says how it is answered

	overdraft bool // the run may go beyond its budget, as its session may
	told      bool // operators know that it would have

	speech atomic.Pointer[stream.Writer] // of the last call
}
