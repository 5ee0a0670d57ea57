package run

import (
	"fmt"
	"slices"

	"agenthost/fastjson"
	"agenthost/llm"
)

// SafeRerun in Rerun marks a call that may run again under the same id.
const SafeRerun = "safe"

// commit writes what is pending, asks the questions in it and publishes the replies: a
// question is asked before the person reads it, as the answer may come at once.
func (m *machine) commit() {
	if len(m.s.pending) == 0 {
		return
	}
	events := m.s.pending
	var id string
	m.s.pending = nil
	if m.s.Run != nil {
		id = m.s.Run.ID
	} else { // the last event is the run.finished that took it away
		id = events[len(events)-1].Run
	}
	m.effects = slices.Grow(m.effects, 2) // mostly a commit and its reply
	m.effects = append(m.effects, Effect{Kind: Commit, Run: id, Events: events})
	for i := range events {
		if c := m.s.asked(&events[i]); c != nil {
			m.do(Effect{Kind: Ask, Call: c.copied()})
		}
	}
	for i := range events {
		if events[i].Reply != nil {
			m.effects = append(m.effects, Effect{Kind: Publish, Run: id, Reply: events[i].Reply})
		}
	}
}

// dispatch asks for the calls of an answer. All of them are in the log before
// the first one runs, with the results of those that cannot: a host that takes the run up does
// not know what the model was offered.
func (m *machine) dispatch(msg llm.Message, offers func(tool string) bool) {
	m.emit(&Event{Type: MessageAdded, Message: &msg})
	calls := msg.Calls()
	for _, p := range calls {
		m.emit(&Event{Type: ToolRequested, Call: p.Call, Name: p.Name, Args: p.Args, Rerun: m.rerun(p.Name)})
	}
	for _, p := range calls {
		c := Call{ID: p.Call, Name: p.Name}
		switch {
		case p.Error:
			m.finish(c, &Event{Result: unread(p.Text), Source: FromCorrection})
		case offers != nil && !offers(p.Name):
			m.finish(c, &Event{Result: NoTool(p.Name), Source: FromCorrection})
		}
	}
	if len(m.s.Run.Calls) == 0 {
		m.onward()
		return
	}
	m.commit()
	m.launch()
}

func (m *machine) rerun(tool string) string {
	if m.lim.Safe != nil && m.lim.Safe(tool) {
		return SafeRerun
	}
	return ""
}

// NoTool tells the model that it has no such tool.
func NoTool(name string) string { return fmt.Sprintf("there is no tool %q", name) }

// unread tells the model why its arguments were not taken.
func unread(args string) string {
	if fastjson.TooDeep([]byte(args)) {
		return fmt.Sprintf("more than %d objects and arrays of the arguments stand in each other; nothing was run", fastjson.Deepest)
	}
	return "the arguments are not valid JSON; nothing was run"
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
