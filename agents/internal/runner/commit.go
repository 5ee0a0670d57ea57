package runner

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"agenthost/agents/internal/hookvalue"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/tracing"
	"agenthost/hooks"
	"agenthost/internal/crash"
	"agenthost/llm"
	"agenthost/run"
)

// commit writes events in the middle of a run and waits until they are stored.
func (t *Runner) commit(events []run.Event) error {
	if err := t.AddressAll(events); err != nil {
		return err
	}
	t.AddHookActs(events)
	stored := make(chan error, 1)
	t.Journal.Commit(t.Agent.Work, t.ID, events, func(err error) { stored <- err })
	crash.Point("in-commit")
	select {
	case err := <-stored:
		crash.Point("after-step")
		return err
	case <-t.Agent.Work.Done():
		return inflight.ErrStopping
	}
}

// finish writes the last commit of the run. The rest happens when it is stored:
// the replies, the acks, the next run. Until then the conversation stays
// running, but needs no slot.
func (t *Runner) finish(events []run.Event) error {
	if err := t.AddressAll(events); err != nil {
		return err
	}
	var last []*run.Reply
	for i := range events {
		e := &events[i]
		if e.Type == run.Replied {
			last = append(last, e.Reply)
		}
		if e.Type == run.Finished && e.Error != nil {
			t.failed(*e.Error)
		}
	}
	t.AddHookActs(events)
	t.replies = slices.Concat(t.replies, last)
	crash.Point("before-commit")
	t.Journal.Commit(t.Agent.Work, t.ID, events, func(err error) { t.finished(events, last, err) })
	return nil
}

// finished goes on once the last commit is settled. It must not block.
func (t *Runner) finished(events []run.Event, last []*run.Reply, err error) {
	defer t.Stored.Store(true)
	crash.Point("after-commit")
	if err == nil {
		t.Agent.Parts.CountRun(t.Agent.ID, events)
	}
	t.runs.Committed(t, last, err)
}

// fault ends the run with an error.
func (t *Runner) fault(e *run.Error) []run.Effect {
	return t.Journal.Step(run.Signal{Kind: run.Fault, At: time.Now(), Run: t.ID, Error: e}, t.Profile.Limits())
}

// failed logs why the run failed and fires the on_error hooks. A stop is no fault.
func (t *Runner) failed(e run.Error) {
	if e.Code == llm.CodeCancelled {
		t.Log().Info().Str("run", t.ID).Msg("run stopped")
	} else {
		t.Log().Warn().Str("run", t.ID).Str("code", string(e.Code)).Msg("run failed")
	}
	if t.Hooked(hooks.OnError) {
		t.FireHooks(context.WithoutCancel(t.Agent.Work), hooks.OnError, "", hooks.Args{"code": hookvalue.Quoted(string(e.Code)), "message": hookvalue.Quoted(e.Message)}, nil)
	}
}

// FireAfterMessage fires the after_message hooks with each input and its replies.
func (t *Runner) FireAfterMessage() {
	replies := make([]json.RawMessage, 0, len(t.replies))
	for _, r := range t.replies {
		replies = append(replies, r.Envelope)
	}
	all, err := json.Marshal(replies)
	if err != nil {
		t.Log().Error().Err(err).Msg("encode replies for hooks")
		return
	}
	for _, in := range t.Inputs {
		t.Agent.Fire(hooks.AfterMessage, t.Key, t.ID, tracing.Context{Parent: in.Trace, State: in.State}, hooks.Args{"message": in.Envelope, "replies": all})
	}
}
