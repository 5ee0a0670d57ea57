package conversation

import (
	"context"

	"agenthost/agents/internal/behaviors"
	"agenthost/agents/internal/message"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// interject looks at what has come into the queue during the run: an answer, an
// order to stop, a message that joins it or takes its place. The rest waits for
// its turn.
func (t *runner) interject(ctx context.Context) ([]run.Effect, error) {
	for {
		in, ok, err := t.runs.nextFor(ctx, t.Journal)
		if !ok || err != nil {
			return nil, err
		}
		it, sig := in.it, in.sig
		if sig.Kind == "" {
			t.Join(it)
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
			sig, without = t.tools.Effective(left, sig)
			if err := t.tools.Heard(ctx, left, sig); err != nil {
				return nil, err
			}
			sig = t.tools.AfterWait(ctx, left, sig)
		}
		if it != nil {
			t.answeredBy(sig, without)
		}
		if sig.Kind == run.Abort && it != nil {
			return t.beginAbort(sig), nil
		}
		effects := t.Journal.Step(sig, t.Profile.Limits())
		if len(effects) > 0 && effects[0].Kind != run.Ignored {
			t.runs.poke() // one nudge may stand for several inputs
			return effects, nil
		}
	}
}

// A candidate is an input of the queue that is not for its turn alone while a run is under way.
type candidate struct {
	it        *message.Item // nil: it stays in the queue
	sig       run.Signal    // without a kind: a tool that asks has its answer
	notice    string        // what the person has yet to be told that it waits for
	refusal   *run.Error    // why it is no answer to the question that it names
	stays     bool          // it stays in the queue, for its turn
	elsewhere bool          // it stays in the queue until it is known whether a run elsewhere has asked for it
}

// interjection takes the first input off the queue that is meant for the run
// under way, of those that it has not looked at yet.
func (c *Conversation) interjection(journal *session.Log) (candidate, bool) {
	left := journal.State().Run
	if left == nil {
		return candidate{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watch()
	if w == nil {
		return candidate{}, false
	}
	list := w.Take(c.Queue, left, c.Agent.Now())
	for i, it := range list {
		if it.Place != message.Held && it.Place != message.Spilled {
			continue
		}
		found, ok := c.interjects(journal, it, left)
		switch {
		case found.elsewhere: // to be looked at once more
			w.PutBack(list[i:])
			return found, true
		case ok:
			w.PutBack(list[i+1:])
			return found, true
		}
	}
	return candidate{}, false
}

// joining is the message of an input that joins the run under way. A hook or a
// behaviour that refuses it leaves the model only the reason.
func (t *runner) joining(ctx context.Context, it *message.Item) llm.Message {
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
