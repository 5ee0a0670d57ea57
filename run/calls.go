package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

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

func (m *machine) rerun(tool string) string {
	if m.lim.Safe != nil && m.lim.Safe(tool) {
		return SafeRerun
	}
	return ""
}

// sound is msg with each call under an id of its own and with arguments that
// can be written down.
func (m *machine) sound(msg llm.Message) llm.Message {
	parts := slices.Clone(msg.Parts)
	earlier := earlierCalls{messages: m.s.Messages}
	for i := range parts {
		p := &parts[i]
		if p.Type != llm.ToolCall {
			continue
		}
		taken := func(id string) bool { return id == "" || hasCall(parts[:i], id) || earlier.have(id) }
		for id, n := p.Call, 1; taken(p.Call); n++ {
			p.Call = cmp.Or(id, "call") + "_" + strconv.Itoa(n)
		}
		switch {
		case p.Error: // as llm.Builder leaves it: what was said is in Text
			p.Args = nil
		case len(p.Args) == 0:
			p.Args = json.RawMessage("{}")
		case !json.Valid(p.Args):
			p.Text, p.Args, p.Error = string(p.Args), nil, true
		}
	}
	msg.Parts = parts
	return msg
}

// earlierCalls are the calls of the answers before: some servers count from
// zero in each.
type earlierCalls struct {
	messages []llm.Message
	ids      map[string]bool // of all, once one was taken: of the next numbers, most are too
}

func (c *earlierCalls) have(id string) bool {
	if c.ids != nil {
		return c.ids[id]
	}
	for i := range c.messages {
		if hasCall(c.messages[i].Parts, id) {
			c.collect()
			return true
		}
	}
	return false
}

func (c *earlierCalls) collect() {
	c.ids = map[string]bool{}
	for i := range c.messages {
		for k := range c.messages[i].Parts {
			if p := &c.messages[i].Parts[k]; p.Type == llm.ToolCall {
				c.ids[p.Call] = true
			}
		}
	}
}

// hasCall looks at long conversations: it copies no part.
func hasCall(parts []llm.Part, id string) bool {
	for i := range parts {
		if p := &parts[i]; p.Call == id && p.Type == llm.ToolCall {
			return true
		}
	}
	return false
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
		m.expire(&asked, sig)
		m.proceed(outside)
	}
}

func (m *machine) finish(c Call, e *Event) {
	e.Type, e.Call, e.Name = ToolFinished, c.ID, c.Name
	m.emit(e)
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
