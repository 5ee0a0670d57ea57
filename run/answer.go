package run

import (
	"cmp"
	"slices"

	"agenthost/llm"
)

// Nothing is the answer of a heartbeat that has nothing to say.
const Nothing = "NOTHING"

// think makes the next call of the model, or what must come before it.
func (m *machine) think() {
	m.admit()
	if m.lim.turnsUsed(m.s.Run.ModelCalls) {
		m.fail(&Error{Code: llm.CodeTurnLimit})
		return
	}
	m.s.room = 0
	if n := m.crowded(); n > 0 {
		m.compact(n)
		return
	}
	m.invoke()
}

// invoke calls the model with what there is room for.
func (m *machine) invoke() {
	room := m.room()
	m.s.count() // which room did not, where nothing is too long
	m.do(Effect{Kind: InvokeModel, Short: m.s.aged.short, Room: room})
}

// admit lets the messages in that came during the run.
func (m *machine) admit() {
	for len(m.s.Run.Joining) > 0 {
		msg := m.s.Run.Joining[0]
		m.emit(&Event{Type: MessageAdded, Message: &msg})
	}
}

func (m *machine) stream(d llm.Delta) {
	if m.s.partial == nil {
		m.s.partial = new(llm.Builder)
	}
	m.s.Phase = Streaming
	m.s.partial.Add(d)
}

// answer takes what the model said: the end of the run, or tools to run.
func (m *machine) answer(sig *Signal) {
	m.facts(sig, m.asked())
	msg, finish := m.said(sig)
	m.s.partial, m.s.Phase = nil, Invoking
	if sig.Forget {
		m.emit(&Event{Type: Compacted, Through: len(m.s.Messages)})
	}
	switch {
	case sig.Error != nil:
		m.keep(msg)
		m.fail(sig.Error)
	case finish == llm.FinishContentFilter:
		m.keep(msg)
		m.fail(&Error{Code: llm.CodeContentFilter})
	case hasCalls(msg.Parts):
		m.dispatch(m.sound(msg), sig.Offers)
	case msg.Empty() && m.s.Run.Trigger == ByHeartbeat:
		m.tell(llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: Nothing}}}, "")
	case msg.Empty():
		m.fail(&Error{Code: llm.CodeProviderUnavailable})
	default:
		m.tell(msg, finish)
	}
}

// said is the answer and why it ended.
func (m *machine) said(sig *Signal) (msg llm.Message, finish llm.Finish) {
	finish = sig.Finish
	if b := m.s.partial; b != nil {
		finish = cmp.Or(finish, b.Finish())
		if sig.Error == nil { // to the builder, what has no finish is cut
			b.Add(llm.Delta{Finish: cmp.Or(finish, llm.FinishStop)})
		}
		msg = b.Message()
	}
	if sig.Message != nil {
		msg = *sig.Message
	}
	msg.Role, msg.Partial = llm.Assistant, false
	return msg, finish
}

// tell gives the answer to the outside. Input that came meanwhile is answered
// next, in the same run.
func (m *machine) tell(msg llm.Message, finish llm.Finish) {
	e := m.event(MessageAdded)
	e.Message = &msg
	m.fold(e)
	reply := &Reply{Kind: m.kind(), Text: msg.Text(), Media: msg.Media(), Cut: finish == llm.FinishLength}
	if reply.Cut && m.lim.Cut != "" { // the model itself does not see the mark
		reply.Text += "\n\n" + m.lim.Cut
	}
	if len(m.s.Run.Joining) == 0 {
		m.end(OutcomeSettled, reply, &Signal{})
		return
	}
	m.reply(reply)
	m.commit()
	m.think()
}

// keep writes what was said of an answer that did not become one. Its calls will
// not run, so they are left out.
func (m *machine) keep(msg llm.Message) {
	if msg.Empty() {
		return
	}
	msg.Partial = true
	msg.Parts = slices.DeleteFunc(slices.Clone(msg.Parts), isCall)
	m.emit(&Event{Type: MessageAdded, Message: &msg})
}

func isCall(p llm.Part) bool { return p.Type == llm.ToolCall }

func hasCalls(parts []llm.Part) bool {
	for i := range parts { // it copies no part
		if parts[i].Type == llm.ToolCall {
			return true
		}
	}
	return false
}

// facts writes what the model's provider was asked and what it took; guess is
// what was estimated for the last of them. What has streamed is from that one.
func (m *machine) facts(sig *Signal, guess int) {
	for i, e := range sig.Called {
		e.Type = ModelCalled
		if i == len(sig.Called)-1 && e.Usage != nil && e.Error == nil && !sig.logged {
			e.Guess = guess
		}
		m.emit(&e)
		if m.s.partial != nil {
			m.s.partial.Provider = e.Provider
		}
	}
}

func (m *machine) reply(r *Reply) {
	r.N = m.s.Run.Replies + 1
	e := m.event(Replied)
	e.Reply = r
	m.fold(e)
}

// kind is what an answer of this run is to its reader.
func (m *machine) kind() string {
	switch m.s.Run.Trigger {
	case BySchedule, ByEvent, ByHeartbeat:
		return KindNotice
	default:
		return KindReply
	}
}
