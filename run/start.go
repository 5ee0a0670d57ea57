package run

import (
	"cmp"
	"slices"

	"agenthost/llm"
)

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
