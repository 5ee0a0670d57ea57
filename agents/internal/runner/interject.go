package runner

import (
	"context"
	"time"

	"agenthost/agents/internal/behaviors"
	"agenthost/agents/internal/message"
	"agenthost/llm"
	"agenthost/run"
)

// interject looks at what has come into the queue during the run: an answer, an
// order to stop, a message that joins it or takes its place. The rest waits for
// its turn.
func (t *Runner) interject(ctx context.Context) ([]run.Effect, error) {
	for {
		in, ok, err := t.runs.Next(ctx, t.Journal)
		if !ok || err != nil {
			return nil, err
		}
		it, sig := in.Item, in.Signal
		if sig.Kind == "" {
			t.Join(it)
			t.noteTaken(it)
			t.answeredBy(sig, nil)
			continue
		}
		if it != nil { // it belongs to this run from now on
			t.Join(it)
		}
		if sig.Kind == run.Submit {
			msg := t.joining(ctx, it)
			sig.Message, sig.Inputs = &msg, []run.Input{it.Input}
			t.AddInput(it.Input)
		}
		var without error
		if left := t.Journal.State().Run; left != nil {
			sig, without = t.Tools.Effective(left, sig)
			if err := t.Tools.Heard(ctx, left, sig); err != nil {
				return nil, err
			}
			sig = t.Tools.AfterWait(ctx, left, sig)
		}
		if it != nil {
			t.answeredBy(sig, without)
		}
		if sig.Kind == run.Abort && it != nil {
			return t.beginAbort(sig), nil
		}
		effects := t.Journal.Step(sig, t.Profile.Limits())
		if len(effects) > 0 && effects[0].Kind != run.Ignored {
			t.runs.Poke() // one nudge may stand for several inputs
			return effects, nil
		}
	}
}

// noteTaken has the log remember an input that a tool at work has as the answer to its question:
// when it comes again, say on the next owner of the lane, it is no message of its own. A log that
// refuses that has to be opened again.
func (t *Runner) noteTaken(it *message.Item) {
	e := run.Event{Type: run.InputTaken, At: time.Now().UTC().Round(0), Run: t.ID, Input: it.Input.Brief()}
	if o := it.Origin; o.Route != nil {
		e.By, e.Door = o.Route.From, o.Route.Door
	} else {
		e.By, e.Door = message.Sender(o.Inbound), o.Subject
	}
	t.Journal.Add(t.Agent.Work, []run.Event{e}, func(err error) {
		if err != nil {
			t.runs.Poke()
		}
	})
}

// joining is the message of an input that joins the run under way. A hook or a
// behaviour that refuses it leaves the model only the reason.
func (t *Runner) joining(ctx context.Context, it *message.Item) llm.Message {
	s := t.Screen(ctx, it, t.ID)
	it.Use(s)
	msg := it.Origin.Message()
	if t.Profile.Behavior == nil || s != nil && s.Refused != "" {
		return msg
	}
	act, err := behaviors.OnMessage(ctx, &t.Run, it, msg)
	switch {
	case err != nil:
		return llm.UserText(message.HeldBackText("something went wrong with it"))
	case act.Drop != "" && act.Answer == "":
		return llm.UserText(message.HeldBackText(act.Drop))
	case act.Answer == "" && len(act.Change.Parts) > 0:
		msg = act.Change
		msg.Role = llm.User
	}
	return msg
}
