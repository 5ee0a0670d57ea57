package runner

import (
	"context"
	"time"

	"agenthost/agents/internal/intake"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// receive is the message that the model gets for the run's inputs. refused is the signal
// that ends the run before it begins.
func (t *Runner) receive(ctx context.Context) (msg llm.Message, refused *run.Signal) {
	reason := t.ScreenAll(ctx)
	select {
	case <-t.runs.Retired:
		return t.refuseRemoved()
	default:
	}
	if t.Dropped() {
		return t.LeaveOut()
	}
	msg, refused = t.firstMessage(ctx)
	if reason != "" {
		refused = t.Refusal(reason)
	}
	return msg, refused
}

// firstMessage makes one message for the model of the run's inputs. refused is the
// signal that ends the run before it begins.
func (t *Runner) firstMessage(ctx context.Context) (msg llm.Message, refused *run.Signal) {
	messages := make([]llm.Message, 0, len(t.Items))
	for i, it := range t.Items {
		if it.Changes() { // the message that it edits says it
			continue
		}
		o := it.Origin
		if e := t.unfit(o); e != nil && refused == nil {
			refused = &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.ID, Error: e}
		}
		if sig := t.Command(ctx, o, it.Input.ID); sig != nil && refused == nil {
			refused = sig
		}
		if sig := t.Ordered(o); sig != nil && refused == nil {
			sig.At, sig.Run, refused = time.Now(), t.ID, sig
		}
		if !t.Superseded(i) {
			messages = append(messages, o.Message())
		}
	}
	return t.Summed(messages), refused
}

// unfit says why an input cannot begin a run; nil when it can.
func (t *Runner) unfit(o message.Origin) *run.Error {
	switch {
	case o.Route != nil && o.Route.Kind == bus.RouteDelegate:
		return t.runs.Intake.RefuseTask(o.Route)
	case o.Route != nil:
		return nil
	case o.Inbound.Answers != "":
		return &run.Error{Code: llm.CodeValidation, Message: t.Profile.Texts.Say("no_open_question")}
	case message.Order(o.Inbound) == message.StopWord && message.Alone(o.Inbound):
		return &run.Error{Code: llm.CodeValidation, Message: t.Profile.Texts.Say("nothing_to_stop")}
	}
	return nil
}

// refuseRemoved is the run of inputs that came too late for an agent that was
// removed: each is a dead letter, and the run ends with an error.
func (t *Runner) refuseRemoved() (msg llm.Message, refused *run.Signal) {
	var messages []llm.Message
	for _, it := range t.Messages() {
		messages = append(messages, it.Origin.Message())
	}
	t.buryInputs(t.removedLetter)
	return t.Summed(messages), &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.ID, Error: intake.RemovedError(t.Profile.Texts, t.Agent.ID, t.Items[0].Origin)}
}

// removedLetter is the dead letter of an input for an agent that was removed; ok is
// false for a heartbeat tick, for which nothing is lost.
func (t *Runner) removedLetter(in run.Input) (letter bus.DeadLetter, ok bool) {
	if o, err := message.ReadOrigin(in); err == nil && o.Trigger() == run.ByHeartbeat {
		return letter, false
	}
	return t.letter(in, "agent \""+t.Agent.ID+"\" was removed from the configuration", llm.CodeToolUnavailable, 0), true
}
