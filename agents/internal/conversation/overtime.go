package conversation

import (
	"errors"
	"fmt"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// A run that works on a task waits no longer than its asker does: the deadlines of what it
// asks are within the time of the task. They are in its log and in the server's schedules,
// so that it ends then on whichever host has its lane.

// errOvertime tells a program that its answer came too late for the task.
var errOvertime = errors.New("the time of the task that this belongs to is over: it was not done, and this answer has no effect")

// overtime reports whether the asker of the run's task waits no longer.
func (t *runner) overtime() bool {
	end := t.Until()
	return !end.IsZero() && !time.Now().Before(end)
}

// effective is what an answer comes to by now: in overtime it is what becomes of its call
// without one, and of an approval that the permissions have come to deny the chat is told that
// it has no effect. The error is for a program that has given the answer.
func (t *runner) effective(left *run.Run, sig run.Signal) (run.Signal, error) {
	if sig.Kind != run.Answered && sig.Kind != run.ToolSettled {
		return sig, nil
	}
	call, waits := t.c.reader().WaitingCall(left, sig.Call)
	switch {
	case !waits:
	case t.overtime():
		return t.expired(call, sig.Input), errOvertime
	case call.Asked == run.ForApproval && sig.Answer == run.Approve && t.tools.Forbidden(call, sig):
		sig.Notice = t.c.Texts().Say("approval_denied_since", "what", call.Prompt)
		return sig, fmt.Errorf("the permissions of %s deny %s by now; it is not run", t.Agent.ID, call.Name)
	}
	return sig, nil
}

// expired is what becomes of a call that waits when the time is over; input is what
// has shown that.
func (t *runner) expired(call run.Call, input *run.Input) run.Signal {
	return t.c.reader().Overdue(run.Signal{At: time.Now(), Run: t.ID, By: ask.FromDeadline, Door: bus.DoorDeadline, Input: input}, call)
}

// endOvertime ends a run that has waited until the time was over. What else it waits for
// is settled with it; agents that work for it have the same deadline and end by themselves.
func (t *runner) endOvertime(effects []run.Effect) []run.Effect {
	for left := t.Journal.State().Run; left != nil; left = t.Journal.State().Run {
		open := left.Open()
		if len(open) == 0 {
			break
		}
		t.Agent.Parts.Asks.Delete(t.c.WaitID(t.ID, open[0]))
		effects = append(effects, t.Journal.Step(t.expired(open[0], nil), t.Profile.Limits())...)
	}
	return append(unstarted(effects), t.fault(&run.Error{Code: llm.CodeRunTimeout, Message: answers.NoResult}, nil)...)
}
