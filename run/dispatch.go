package run

import (
	"cmp"
	"slices"

	"agenthost/llm"
)

// proceed goes on after a call has settled or begun to wait; now says that
// what is pending cannot wait for the other calls.
func (m *machine) proceed(now bool) {
	if len(m.s.Run.Calls) == 0 {
		m.onward()
		return
	}
	if m.suspend() || now {
		m.commit()
	}
	m.launch()
}

// onward calls the model again, with the results, unless it has shown that it
// cannot use its tools.
func (m *machine) onward() {
	if m.lim.correctionsUsed(m.s.Run.Corrections) {
		m.fail(&Error{Code: llm.CodeToolFailed})
		return
	}
	m.commit()
	m.think()
}

// launch runs as many of the calls as may run at once.
func (m *machine) launch() {
	free := m.lim.Tools
	for _, c := range m.s.Run.Calls {
		if c.running {
			free--
		}
	}
	r := m.s.edit()
	for i := range r.Calls {
		c := &r.Calls[i]
		if free > 0 && c.ready() && !c.running {
			c.running = true
			free--
			m.do(Effect{Kind: RunTool, Call: c.copied()})
		}
	}
}

// suspend suspends a run that waits for a person or another agent, and reports
// whether it does.
func (m *machine) suspend() bool {
	r := m.s.Run
	if m.s.Phase == InSuspense || slices.ContainsFunc(r.Calls, Call.ready) {
		return false
	}
	var waiting []string
	for _, c := range r.Calls {
		if !c.Done {
			waiting = append(waiting, c.ID)
		}
	}
	m.emit(&Event{Type: Suspended, Waiting: waiting})
	return true
}

// settle takes the result of a call, or lets it wait.
func (m *machine) settle(sig *Signal) {
	c := m.s.Run.call(sig.Call)
	switch {
	case c == nil:
		m.ignore("no such call is open")
	case sig.Wait != nil:
		m.ask(*c, *sig.Wait)
	default:
		// What came from outside is acknowledged there, so it is written now.
		outside := c.Asked != ""
		asked := *c
		m.finish(*c, &Event{OK: sig.OK, Result: sig.Result, Source: cmp.Or(sig.Source, FromTool), Input: sig.Input})
		m.notify(&asked, sig)
		m.proceed(outside)
	}
}

func (m *machine) finish(c Call, e *Event) {
	e.Type, e.Call, e.Name = ToolFinished, c.ID, c.Name
	m.emit(e)
}
