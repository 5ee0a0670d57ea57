package toolcall

import (
	"errors"
	"fmt"
	"time"

	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/run"
)

// A run that works on a task waits no longer than its asker does: the deadlines of what it
// asks are within the time of the task. They are in its log and in the server's schedules,
// so that it ends then on whichever host has its lane.

// errOvertime tells a program that its answer came too late for the task.
var errOvertime = errors.New("the time of the task that this belongs to is over: it was not done, and this answer has no effect")

// Effective is what an answer comes to by now: in overtime it is what becomes of its call
// without one, and of an approval that the permissions have come to deny the chat is told that
// it has no effect. The error is for a program that has given the answer.
func (t *Caller) Effective(r *run.Run, sig run.Signal) (run.Signal, error) {
	if sig.Kind != run.Answered && sig.Kind != run.ToolSettled {
		return sig, nil
	}
	call, waits := t.reader().WaitingCall(r, sig.Call)
	switch {
	case !waits:
	case t.Overtime():
		return t.Expired(call, sig.Input), errOvertime
	case call.Asked == run.ForApproval && sig.Answer == run.Approve && t.deniedSince(call, sig):
		sig.Notice = t.Texts().Say("approval_denied_since", "what", call.Prompt)
		return sig, fmt.Errorf("the permissions of %s deny %s by now; it is not run", t.Agent.ID, call.Name)
	}
	return sig, nil
}

// deniedSince reports whether the permissions of by now deny a call that waits for an
// approval, which sig is.
func (t *Caller) deniedSince(call run.Call, sig run.Signal) bool {
	tool, ok := t.Agent.Now().Tools.Find(call.Name)
	return ok && t.forbidden(tool, approved(call, sig)) != ""
}

// Expired is what becomes of a call that waits when the time is over; input is what
// has shown that.
func (t *Caller) Expired(call run.Call, input *run.Input) run.Signal {
	return t.reader().Overdue(run.Signal{At: time.Now(), Run: t.ID, By: ask.FromDeadline, Door: bus.DoorDeadline, Input: input}, call)
}

func (t *Caller) reader() answers.Reader { return answers.Reader{Session: t.Session} }
