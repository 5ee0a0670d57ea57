package run

import (
	"slices"

	"agenthost/llm"
)

// dispatch asks for the calls of an answer. All of them are in the log before
// the first one runs.
func (m *machine) dispatch(msg llm.Message) {
	m.emit(&Event{Type: MessageAdded, Message: &msg})
	calls := msg.Calls()
	for _, p := range calls {
		m.emit(&Event{Type: ToolRequested, Call: p.Call, Name: p.Name, Args: p.Args, Rerun: m.rerun(p.Name)})
	}
	for _, p := range calls {
		if p.Error {
			c := Call{ID: p.Call, Name: p.Name}
			m.finish(c, &Event{Result: "the arguments are not valid JSON; nothing was run", Source: FromCorrection})
		}
	}
	if len(m.s.Run.Calls) == 0 {
		m.onward()
		return
	}
	m.commit()
	m.launch()
}

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
