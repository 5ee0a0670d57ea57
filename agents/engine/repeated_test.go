package engine_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/session"
)

// A patientModel repeats what it is told, each time when it is let.
type patientModel chan struct{}

func (m patientModel) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		select {
		case <-m:
			_ = yield(llm.Delta{Text: req.LastText()}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
		}
	}
}

// A message that comes again during its own run neither joins that nor interrupts it.
func TestMessageThatComesAgainDuringItsRun(t *testing.T) {
	t.Parallel()
	for _, queue := range []session.Queue{session.Followup, session.Collect, session.Steer, session.Interrupt} {
		t.Run(string(queue), func(t *testing.T) {
			model := make(patientModel)
			a := bot("ana", func(a *actor) { a.model = model })
			a.cfg.Session.Queue = queue
			w := newWorld(t, a)
			w.say("ana", bus.Inbound{ID: "1", Text: "hi"})
			w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
			w.say("ana", bus.Inbound{ID: "1", Text: "hi"})
			w.eventually("the second copy", func() bool { return w.fleet.Status()[0].Queued == 1 })
			go func() { model <- struct{}{} }()
			if out := w.expect("reply", "hi"); out.InReplyTo != "1" || len(out.Merged) > 0 {
				t.Errorf("heard %+v, want an answer to 1 alone", out)
			}
			w.settled()
			w.silent()
		})
	}
}

// A message that comes again when the mailbox is full is answered once, at the turn it has.
func TestMessageThatComesAgainBehindAFullMailbox(t *testing.T) {
	t.Parallel()
	model := make(patientModel)
	w := newWorld(t, bot("ana", func(a *actor) { a.model = model }))
	w.say("ana", bus.Inbound{ID: "m0", Text: "m0"})
	w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
	const many = 40 // more than it holds
	for i := 1; i < many; i++ {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("m", i), Text: fmt.Sprint("m", i)})
	}
	for _, id := range []string{"m0", "m1"} { // at work, and waiting
		w.say("ana", bus.Inbound{ID: id, Text: id})
	}
	w.eventually("all", func() bool { return w.fleet.Status()[0].Queued == many+1 })
	w.eventually("the rest in the log", func() bool { return w.stored(bus.SessionsStream) > 0 })
	go func() {
		for range many {
			model <- struct{}{}
		}
	}()
	for i := range many {
		w.expect("reply", fmt.Sprint("m", i))
	}
	w.settled()
	w.silent()
}
