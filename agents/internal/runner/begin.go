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
	single := len(t.Messages()) == 1 // of several that are collected none is an order, also where a hook makes it say one
	for i, it := range t.Items {
		if it.Changes() { // the message that it edits says it
			continue
		}
		o := it.Origin
		if e := t.unfit(o); e != nil && refused == nil {
			refused = &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.ID, Error: e}
		}
		if single && refused == nil {
			refused = t.carryOut(ctx, o, it.Input.ID)
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
	}
	return nil
}

// carryOut carries out an order. The signal ends the run in place of the model; nil when the input
// is no order.
func (t *Runner) carryOut(ctx context.Context, o message.Origin, id string) *run.Signal {
	if message.Order(o.Inbound) == message.StopWord && message.Alone(o.Inbound) { // nothing is under way
		e := &run.Error{Code: llm.CodeValidation, Message: t.Profile.Texts.Say("nothing_to_stop")}
		return &run.Signal{Kind: run.Fault, At: time.Now(), Run: t.ID, Error: e}
	}
	if sig := t.Command(ctx, o, id); sig != nil {
		return sig
	}
	sig := t.Ordered(o)
	if sig != nil {
		sig.At, sig.Run = time.Now(), t.ID
	}
	return sig
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
