package run

import "agenthost/llm"

func (m *machine) abort(sig *Signal) {
	m.facts(sig, 0)
	m.hearOut(sig)
	m.stop(&Error{Code: llm.CodeCancelled, Message: sig.Reason}, sig)
}

func (m *machine) fault(sig *Signal) {
	m.facts(sig, 0)
	if sig.TooLong && m.s.Phase == Invoking && m.s.room == 0 {
		m.squeeze()
		return
	}
	m.hearOut(sig)
	err := sig.Error
	if err == nil {
		err = &Error{Code: llm.CodeInternal}
	}
	m.fail(err)
}

// hearOut takes the word of the signal for what the model has said so far.
func (m *machine) hearOut(sig *Signal) {
	if sig.Message != nil {
		m.s.partial = nil
		m.keep(*sig.Message)
	}
}

func (m *machine) fail(err *Error) { m.stop(err, &Signal{}) }

// stop ends the run before its time. What it had said is kept, what it had
// asked for is settled, and the person is told. order says who ordered it,
// and by which way.
func (m *machine) stop(err *Error, order *Signal) {
	if m.s.partial != nil {
		msg := m.s.partial.Message()
		m.s.partial = nil
		m.keep(msg)
	}
	m.cancel()
	e := m.told(err)
	outcome := OutcomeFailed
	if e.Code == llm.CodeCancelled {
		outcome = OutcomeStopped
	}
	m.end(outcome, &Reply{Kind: KindError, Text: e.Message, Error: &e}, order)
}

// cancel settles every open call: to the model a call without a result is an
// error in the whole conversation.
func (m *machine) cancel() {
	for _, c := range m.s.Run.Calls {
		if c.Done {
			continue
		}
		result := "cancelled; its outcome is unknown"
		if c.Asked == ForApproval || c.Asked == ForQuestion {
			result = "cancelled before it was answered"
		}
		m.finish(c, &Event{Result: result, Source: FromEnd})
	}
}

// end says the last word of the run, and who ordered it.
func (m *machine) end(outcome Outcome, last *Reply, order *Signal) {
	m.s.cut = 0
	m.admit()
	if order.TakenOver != nil {
		joined := Joined(m.at, order.By, order.Door, order.Input, *order.TakenOver)
		m.emit(&joined)
	}
	last.Final = true
	m.reply(last)
	e := m.event(Finished)
	e.Run, e.Outcome, e.Error = m.s.Run.ID, outcome, last.Error
	e.By, e.Door, e.Input = order.By, order.Door, order.Input
	m.fold(e)
	m.commit()
}
