package runner

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

// Runs are those of a session: what one leaves for the next.
type Runs struct {
	inflight.Session
	Conversation
	Intake  *intake.Intake
	Retired <-chan struct{}    // closed when the agent is removed from the configuration
	Live    *liveask.Questions // of tools at work
	Out     *replies.Sender
	Nudge   chan struct{} // holds a token when something has come for the run at work; there is room for one

	overBudget atomic.Bool // operators know that the budget of the session is exceeded
}

// Conversation is the conversation as its run sees it.
type Conversation interface {
	// Enter makes t the run at work, and Leave ends that. The next run may have begun by then.
	Enter(t *Runner)
	Leave(t *Runner)
	// Newest is the sequence of the newest message of the chat.
	Newest() uint64
	// Next takes the next input that is meant for the run off the queue; ok is false where none is.
	Next(ctx context.Context, journal *session.Log) (in Interjection, ok bool, err error)
	// TakeAbort takes another order to stop the run off the queue; nil where it has no other.
	TakeAbort(journal *session.Log) *message.Item
	// GoesOn notes that the run has what it was suspended for.
	GoesOn()
	// Committed goes on once the last commit of t is settled: last are the replies in it, and err
	// is why it is not stored. It must not block.
	Committed(t *Runner, last []*run.Reply, err error)
}

// An Interjection is what has come for the run under way.
type Interjection struct {
	Item   *message.Item // nil: it stays in the queue
	Signal run.Signal    // without a kind: a tool that asks has its answer
}

// New makes a run that answers the inputs of items.
func (r *Runs) New(journal *session.Log, id string, items []*message.Item) *Runner {
	t := &Runner{runs: r, signals: make(chan run.Signal)}
	t.Session, t.Journal, t.ID = r.Session, journal, id
	t.Prepare(items)
	t.Model.Run, t.Model.Told, t.Model.Word = &t.Run, &r.overBudget, t.Tools.WordExcess
	t.Tools.Run, t.Tools.Newest, t.Tools.Uncancelled = &t.Run, r.Newest, t.uncancelled
	t.Tools.AtWork = r.Live.Highest
	return t
}

// Poke has the run at work look at what has come for it.
func (r *Runs) Poke() {
	select {
	case r.Nudge <- struct{}{}:
	default:
	}
}
