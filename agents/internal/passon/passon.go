package passon

import (
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/replies"
	"agenthost/agents/internal/tracing"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
	"agenthost/internal/crash"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// A Passer passes on what comes into a session and is for a run of another.
type Passer struct{ inflight.Session }

// An Outcome is what became of an input. The zero Outcome: it is for no run elsewhere.
type Outcome struct {
	Told    string     // it was passed on, and this is what its sender has to be told
	Refused *run.Error // it is for a run elsewhere that does not take it, for this reason
	Over    bool       // its sender hears no more of it here: an owner before has told them, or another agent does
	Unknown bool       // the host stops, and the next owner has to look
}

func (p Passer) reader() answers.Reader { return answers.Reader{Session: p.Session} }

// MayPass reports whether an input that comes while no run waits here may be
// for one that waits elsewhere and has asked in this chat.
func (p Passer) MayPass(it *message.Item) bool {
	in := it.Origin.Inbound
	if in == nil || it.Local || p.reader().IsForItself(it) {
		return false
	}
	if in.Answers != "" || it.MayHaveBegun() { // an owner before may have passed it on
		return true
	}
	return len(p.reader().OpenHere(it)) > 0
}

// PassSoon is Pass for an answer that names its question. The server that is asked
// for the question may learn of it a moment later.
func (p Passer) PassSoon(it *message.Item, left *run.Run) Outcome {
	tries := 1
	if it.Origin.Inbound.Answers != "" { // then there is a question, or was
		tries = 5
	}
	for {
		if out := p.Pass(it, left); out != (Outcome{}) {
			return out
		}
		if tries--; tries == 0 {
			it.Local = true
			return Outcome{}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-p.Agent.Work.Done():
			return Outcome{Unknown: true}
		}
	}
}

// Pass passes an answer on to the run that has asked in this chat and is not
// of it: that of an agent which works for this one, or one that was begun by the
// clock or an event. left is the run of this session, nil where it has none.
//
// An answer that names the question of an agent which is bound to this channel reaches that agent
// itself, and what there is to say is said by it. It is passed on all the same: the agent's binding
// may leave its sender out.
func (p Passer) Pass(it *message.Item, left *run.Run) Outcome {
	if p.reader().IsForItself(it) {
		return Outcome{}
	}
	out := p.pass(it, left)
	if !out.Unknown && p.isOfHearer(it) {
		return Outcome{Over: true}
	}
	return out
}

// isOfHearer reports whether an input names the question of another agent, which gets it as well.
func (p Passer) isOfHearer(it *message.Item) bool {
	if in := it.Origin.Inbound; in.Answers == "" || in.Agent != "" {
		return false
	}
	agent, _, ok := ask.SplitID(it.Origin.Inbound.Answers)
	return ok && agent != p.Agent.ID && p.Agent.Parts.Peers.Hear(agent, it.Origin.Subject)
}

func (p Passer) pass(it *message.Item, left *run.Run) Outcome {
	before, err := p.reader().PassedOn(it)
	if err != nil {
		return Outcome{Unknown: true}
	}
	ctx, cancel := context.WithTimeout(p.Agent.Work, 10*time.Second)
	defer cancel()
	switch {
	case it.Stops():
		return p.stop(ctx, it, before)
	case before != "": // by an owner who may have died before it said so
		return p.passed(it, p.passedTo(it, before))
	}
	return p.answer(ctx, it, left)
}

// answer passes an input on as the answer that it is.
func (p Passer) answer(ctx context.Context, it *message.Item, left *run.Run) Outcome {
	in := it.Origin.Inbound
	asked := p.reader().AskedHere(ctx, it)
	w, sig, fits := p.meant(it, left, asked)
	switch {
	case !fits && in.Answers != "" && len(asked) > 0:
		return Outcome{Refused: p.reader().NoAnswer(it, asked[0].Kind, asked[0].Options)}
	case !fits:
		return Outcome{}
	}
	if why := p.refusal(ctx, it, w, &sig); why != nil {
		return Outcome{Refused: why}
	}
	msg, err := w.Answer(bus.Route{ID: it.Input.ID, From: message.Sender(in), Text: sig.Answer, Scope: sig.Scope, Door: it.Origin.Subject, AnsweredAt: it.Stored.UTC()})
	if err == nil {
		err = p.publish(it, w.ID, msg)
	}
	switch {
	case errors.Is(err, inflight.ErrStopping):
		return Outcome{Unknown: true}
	case err != nil:
		p.Log().Warn().Err(err).Msg("pass an answer on")
		return Outcome{}
	}
	p.reader().Give(it, w.ID)
	crash.Stall("after-pass-on")
	return p.passed(it, p.passedTo(it, w.ID))
}

// refusal is why an answer is not passed on, nil where it is: sig is then what it says.
func (p Passer) refusal(ctx context.Context, it *message.Item, w agents.Waiting, sig *run.Signal) *run.Error {
	in := it.Origin.Inbound
	if !w.InTime(it.Stored) { // the agent has yet to see that
		return p.reader().Expired(it, w)
	}
	if why := answers.RuleOf(w).Refuse(p.Book(it), it, in.Answers == "" || p.reader().IsHere(w.Origin, it), *sig); why != nil {
		return why
	}
	if w.Kind != run.ForQuestion || len(w.Options) > 0 {
		return nil
	}
	s := p.Screen(ctx, it, "")
	switch {
	case s == nil:
		return nil
	case s.Refused != "":
		return inflight.RefusedByHook(s.Refused)
	}
	sig.Answer = ask.ReadAgain(in.Said(), sig.Answer, s.Origin.Inbound.Said())
	return nil
}

// meant picks the one of asked that an input answers: one whose deadline has passed
// only where it is for no other. Any text that comes so late is a message like others.
func (p Passer) meant(it *message.Item, left *run.Run, asked []agents.Waiting) (w agents.Waiting, sig run.Signal, fits bool) {
	open, over := split(asked, func(w agents.Waiting) bool { return w.InTime(it.Stored) })
	if w, sig, fits = p.reader().MeantElsewhere(it, left, open); fits || len(over) == 0 {
		return w, sig, fits
	}
	if it.Origin.Inbound.Answers == "" {
		over = slices.DeleteFunc(over, func(w agents.Waiting) bool { return w.Kind == run.ForQuestion && len(w.Options) == 0 })
	}
	return p.reader().MeantElsewhere(it, left, over)
}

// split are those of a list that are, and those that are not.
func split(list []agents.Waiting, is func(agents.Waiting) bool) (yes, no []agents.Waiting) {
	for _, w := range list {
		if is(w) {
			yes = append(yes, w)
		} else {
			no = append(no, w)
		}
	}
	return yes, no
}

// publish publishes what an input means to a call that waits under that id.
func (p Passer) publish(it *message.Item, id string, msg *nats.Msg) error {
	msg.Header.Set(nats.MsgIdHdr, id+p.reader().PassedOnHash(it))
	tracing.Context{Parent: it.Input.Trace, State: it.Input.State}.Set(msg.Header)
	_, err := p.Agent.Parts.Publisher.PublishWait(p.Agent.Work, msg)
	if p.Agent.Work.Err() != nil { // it may be stored or not; the next owner looks
		return inflight.ErrStopping
	}
	return err
}

// stop ends the runs of other sessions that wait for an answer in this chat.
// An order that comes again, and was passed on before, is for none that has
// asked since.
func (p Passer) stop(ctx context.Context, it *message.Item, before string) Outcome {
	n := 0
	for _, w := range p.reader().AskedHere(ctx, it) {
		if before != "" && w.AskedAt.After(it.Delivery.Stored) {
			continue
		}
		msg, err := agents.StopMessageBy(it.Origin.Subject, w.Agent, session.Key(w.Session), message.Sender(it.Origin.Inbound), p.Book(it).Say("stopped"), "")
		if err == nil {
			err = p.publish(it, w.ID, msg)
		}
		if errors.Is(err, inflight.ErrStopping) {
			return Outcome{Unknown: true}
		}
		if err != nil {
			p.Log().Warn().Err(err).Str("session", w.Session).Msg("pass an order to stop on")
			continue
		}
		n++
	}
	if n == 0 && before == "" {
		return Outcome{}
	}
	return p.passed(it, p.Book(it).Say("stopping_elsewhere"))
}

// passedTo is what a person is told when their answer was passed on to the wait with an id.
func (p Passer) passedTo(it *message.Item, id string) string {
	if agent, _, _ := ask.SplitID(id); agent != p.Agent.ID {
		return p.Book(it).Say("answer_passed_on", "agent", profile.Title(agent))
	}
	return p.Book(it).Say("answer_noted")
}

// passed is the outcome of what was passed on. Of an input that may
// have begun an owner before may have said so, longer ago than the stream remembers.
func (p Passer) passed(it *message.Item, told string) Outcome {
	if !it.MayHaveBegun() {
		return Outcome{Told: told}
	}
	reply := replies.Aside(p.Session, it, run.Reply{Kind: run.KindReply, Final: true, Text: told}).Replies[0]
	switch said, err := (unsent.Finder{Session: p.Session}).Has(reply, it.Delivery.Stored); {
	case err != nil:
		return Outcome{Unknown: true}
	case said:
		return Outcome{Over: true}
	}
	return Outcome{Told: told}
}
