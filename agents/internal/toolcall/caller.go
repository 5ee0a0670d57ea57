// Package toolcall does what a model asks for, if it may: policy, hooks, approvals, questions,
// and tasks for other agents.
package toolcall

import (
	"context"

	"agenthost/agents/internal/inflight"
)

// A Caller uses the tools of one run, several at once.
type Caller struct {
	*inflight.Run
	Newest func() uint64 // the sequence of the last message of the chat that has come
	AtWork func() int    // the highest number of what tools at work ask; nil: they ask nothing
	// Uncancelled is ctx for the hooks that see a result: that of a tool which ended because
	// the run is stopped goes to the log as well.
	Uncancelled func(ctx context.Context) context.Context

	order askOrder // of the calls that ask
}
