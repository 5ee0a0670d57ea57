package conversation

import (
	"context"
	"sync/atomic"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/intake"
	"agenthost/agents/internal/liveask"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/replies"
	"agenthost/run"
	"agenthost/session"
)

// runs are those of a session: what one leaves for the next.
type runs struct {
	inflight.Session
	around
	intake  *intake.Intake
	retired <-chan struct{}    // closed when the agent is removed from the configuration
	live    *liveask.Questions // of tools at work
	out     *replies.Sender
	nudge   chan struct{} // holds a token when something has come for the run at work; there is room for one

	overBudget atomic.Bool // operators know that the budget of the session is exceeded
}

// around is the conversation as its run sees it.
type around interface {
	// enter makes t the run at work, and leave ends that. The next run may have begun by then.
	enter(t *runner)
	leave(t *runner)
	// newestInput is the sequence of the newest message of the chat.
	newestInput() uint64
	// nextFor takes the next input that is meant for the run off the queue; ok is false where none is.
	nextFor(ctx context.Context, journal *session.Log) (in interjection, ok bool, err error)
	// takeAbort takes another order to stop the run off the queue, and reports whether there is one.
	takeAbort(journal *session.Log) bool
	// goesOn notes that the run has what it was suspended for.
	goesOn()
	// committed goes on once the last commit of t is settled: last are the replies in it, and err
	// is why it is not stored. It must not block.
	committed(t *runner, last []*run.Reply, err error)
}

// An interjection is what has come for the run under way.
type interjection struct {
	it  *message.Item // nil: it stays in the queue
	sig run.Signal    // without a kind: a tool that asks has its answer
}

// start makes a run that answers the inputs of items.
func (r *runs) start(journal *session.Log, id string, items []*message.Item) *runner {
	t := &runner{runs: r, signals: make(chan run.Signal)}
	t.Session, t.Journal, t.ID = r.Session, journal, id
	t.Prepare(items)
	t.model.Run, t.model.Told, t.model.Word = &t.Run, &r.overBudget, t.tools.Word
	t.tools.Run, t.tools.Newest, t.tools.Uncancelled = &t.Run, r.newestInput, t.uncancelled
	t.tools.AtWork = r.live.Highest
	return t
}

// poke has the run at work look at what has come for it.
func (r *runs) poke() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}
