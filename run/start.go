package run

import (
	"cmp"
	"slices"
	"time"

	"agenthost/llm"
)

// Resume takes up a state that was folded from a log: the unfinished run, if
// there is one, goes on from what is known of it. Calls that were requested and
// have no result run again when they are marked safe; the others get the error
// result that their outcome is unknown. Who was asked is asked again, under the
// same ids. It must not be used on a state whose effects are still under way.
func Resume(s State, at time.Time, lim Limits) (State, []Effect) {
	m := machine{s: &s, at: at, lim: lim}
	m.prepare()
	if s.Run != nil {
		m.resume()
	}
	return s, m.effects
}

func (m *machine) resume() {
	m.s.partial, m.s.cut = nil, 0
	if held := m.s.Run.Hold; held != nil {
		m.commit()
		m.do(Effect{Kind: Ask, Call: held.copied()})
		return
	}
	if len(m.s.Run.Calls) == 0 {
		m.s.Phase = Invoking
		m.commit()
		m.think()
		return
	}
	m.interrupt()
	m.proceed(true)
	if m.s.Run == nil {
		return
	}
	for _, c := range m.s.Run.Calls {
		if !c.Done && c.Asked != "" {
			m.do(Effect{Kind: Ask, Call: c.copied()})
		}
	}
}

// interrupt settles the calls that were at work and may not run again.
func (m *machine) interrupt() {
	r := m.s.edit()
	for i := range r.Calls {
		r.Calls[i].running = false
	}
	for _, c := range r.Calls {
		if c.ready() && c.Rerun != SafeRerun {
			m.finish(c, &Event{Result: "interrupted; its outcome is unknown", Source: FromRecovery})
		}
	}
}

// submit takes a message: it begins a run, joins the one under way, or waits.
// The message of this very run, tried again, restarts it.
func (m *machine) submit(sig *Signal) {
	switch r := m.s.Run; {
	case r == nil:
		m.start(sig)
	case r.ID == sig.Run:
		m.restart(sig)
	case sig.Join && m.s.Phase != InSuspense:
		m.accept(sig.Inputs, r.ID, sig.Message)
	default:
		m.accept(sig.Inputs, "", nil)
	}
}

// start begins a run. A counted attempt is written before any work, so that
// the next host counts on.
func (m *machine) start(sig *Signal) {
	if sig.Run == "" || sig.Message == nil {
		m.ignore("no run id or no message")
		return
	}
	if m.s.Operator != nil {
		m.ignore("an operator has taken the chat over")
		return
	}
	if len(m.s.Messages) == 0 { // before the run, whose model has not said any of it
		for i := range sig.History {
			m.emit(&Event{Type: MessageAdded, Message: &sig.History[i]})
		}
	}
	e := m.event(Started)
	e.Run, e.Trigger, e.Inputs = sig.Run, cmp.Or(sig.Trigger, ByMessage), sig.Inputs
	e.Attempt, e.Handed, e.Lost = sig.Attempt, sig.Handed, sig.Lost
	m.fold(e)
	e = m.event(MessageAdded)
	e.Message = sig.Message
	m.fold(e)
	if sig.Then != nil && endsAtOnce(sig.Then.Kind) {
		m.take(sig.Then)
		return
	}
	if sig.Attempt > 0 {
		m.commit()
	}
	m.think()
}

func endsAtOnce(k SignalKind) bool { return k == StreamEnd || k == Abort || k == Fault }

// restart counts one more attempt of the run and takes it up as Resume does.
func (m *machine) restart(sig *Signal) {
	if sig.Attempt <= m.s.Run.Attempt {
		m.ignore("this run is under way")
		return
	}
	m.emit(&Event{Type: Started, Run: sig.Run, Trigger: m.s.Run.Trigger, Attempt: sig.Attempt, Handed: sig.Handed, Lost: sig.Lost})
	m.resume()
}

// accept writes inputs down: for later, or for a run, which the message
// reaches with its next call of the model.
func (m *machine) accept(inputs []Input, run string, msg *llm.Message) {
	if len(inputs) == 0 || run != "" && msg == nil {
		m.ignore("no input or no message")
		return
	}
	inputs = slices.Clone(inputs)
	for i := range inputs {
		e := Event{Type: InputAdded, Run: run, Input: &inputs[i]}
		if i == len(inputs)-1 {
			e.Message = msg
		}
		m.emit(&e)
	}
	m.commit()
}
