package agents

import (
	"context"
	"time"

	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// Retire has the runtime of an agent that was removed from the configuration end:
// the runs under way go on, what waits behind them is answered with an error.
func (r *Runtime) Retire() { close(r.retired) }

func (r *Runtime) isRetired() bool {
	select {
	case <-r.retired:
		return true
	default:
		return false
	}
}

// endQueued waits until every message that a removed agent has taken is answered, or
// ctx ends.
func (r *Runtime) endQueued(ctx context.Context) {
	if !r.isRetired() {
		return
	}
	r.acceptInbox()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		r.busy.Wait()
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// leaveInbox gives up what came while the agent stopped taking.
func (r *Runtime) leaveInbox() {
	for {
		select {
		case d := <-r.inbox:
			d.Leave()
		default:
			return
		}
	}
}

// refuseRemoved is the run of inputs that came too late for an agent that was
// removed: each is a dead letter, and the run ends with an error.
func (t *runner) refuseRemoved() (msg llm.Message, refused *run.Signal) {
	var messages []llm.Message
	for _, it := range t.messages() {
		messages = append(messages, it.origin.message())
	}
	t.buryInputs(t.c.r.removedLetter)
	return t.summed(messages), &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.id, Error: removedError(t.p.texts, t.c.r.id, t.items[0].origin)}
}

// removedError tells whoever asked that the agent was removed. A person need not
// know how agents are called.
func removedError(book texts.Book, agent string, o origin) *run.Error {
	e := &run.Error{Code: llm.CodeToolUnavailable, Message: book.Say("message_failed")}
	if o.route != nil {
		e.Message = "agent \"" + agent + "\" is not configured any more"
	}
	return e
}

// removedLetter is the dead letter of an input for an agent that was removed; ok is
// false for a heartbeat tick, for which nothing is lost.
func (r *Runtime) removedLetter(in run.Input) (letter bus.DeadLetter, ok bool) {
	if o, err := readOrigin(in); err == nil && o.trigger() == run.ByHeartbeat {
		return letter, false
	}
	return r.letter(in, "agent \""+r.id+"\" was removed from the configuration", llm.CodeToolUnavailable, 0), true
}
