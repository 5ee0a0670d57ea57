package toolcall

import (
	"fmt"
	"time"

	"agenthost/agents"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// A wait that is committed has to be sent, or its session stands still. So what NATS cannot carry
// is refused before: the model is told, and can do something else.

// replyAround is what a question takes more as a reply than as what is known to wait: its text is
// shortened to 4096 bytes there, each of which may become six.
const replyAround = 32 << 10

// refuseUnsendable has a call that waits for what cannot be sent end with an error instead.
func (t *Caller) refuseUnsendable(call run.Call, sig run.Signal) run.Signal {
	if sig.Wait == nil {
		return sig
	}
	if err := t.CheckSendable(call, sig.Wait); err != nil {
		return run.Signal{Kind: sig.Kind, Call: sig.Call, Result: err.Error()}
	}
	return sig
}

// CheckSendable says why what a call is to wait for does not fit into a message; nil when it does.
func (t *Caller) CheckSendable(call run.Call, wait *run.Wait) error {
	call.Asked, call.Wait, call.Prompt, call.Options, call.To = wait.For, wait.ID, wait.Prompt, wait.Options, wait.To
	call.Context, call.Default, call.Deadline, call.AskedAt = wait.Context, wait.Default, wait.Deadline, time.Now()
	w := t.waiting(call)
	msgs, err := t.messagesOf(call, w)
	if err != nil {
		return err
	}
	around := 0
	if w.Kind != run.ForDelegate {
		around = replyAround
	}
	for _, msg := range msgs {
		if err := t.Fits(len(msg.Data) + around); err != nil {
			return err
		}
	}
	return nil
}

// messagesOf are those that Ask sends, but for what others than the agent and the server are told.
func (t *Caller) messagesOf(call run.Call, w agents.Waiting) (msgs []*nats.Msg, err error) {
	add := func(msg *nats.Msg, failed error) {
		if failed != nil {
			err = fmt.Errorf("encode what is asked: %w", failed)
			return
		}
		msgs = append(msgs, msg)
	}
	add(w.Entry())
	if !w.Deadline.IsZero() {
		add(w.Reminder(call.Default, t.Trace.Set))
	}
	if call.Asked == run.ForDelegate {
		add(t.task(w, call.Context))
	}
	return msgs, err
}
