// Package run is the machine that turns one input into an answer: the calls of
// the model, the tools between them, the people waited for, and the one reply
// that ends it. It does no I/O and reads no clock. [Step] takes a [Signal] and
// returns the [Effect]s to perform; [Fold] makes a [State] of a log. Step
// changes what a State writes only by folding the events it emits, so the log
// of a session and its live state never disagree.
//
// A run ends exactly once, with a reply that is final and a run.finished in
// the same commit, whatever is signalled and in whatever order. Every tool call
// gets exactly one result. Nothing that the world can see is asked for before
// the commit that records it.
package run

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agenthost/fastjson"
	"agenthost/llm"
)

// expects reports whether a signal has a meaning in this phase. If not it comes
// too late or does not apply: Step ignores it.
func (p Phase) expects(k SignalKind) bool {
	switch p {
	case Idle, Settled, Faulted:
		return k == Submit
	case Invoking, Streaming:
		switch k {
		case Submit, Emission, StreamEnd, Held, Abort, Fault:
			return true
		}
	case Compacting:
		switch k {
		case Submit, Held, CompactEnd, Abort, Fault:
			return true
		}
	case Dispatching, InSuspense:
		switch k {
		case Submit, ToolSettled, Answered, Abort, Fault:
			return true
		}
	}
	return false
}

// Step takes one signal and returns the state after it and what is to be done
// now. A signal that means nothing in this phase, or that comes a second time,
// leaves the state as it is: its only effect is Ignored, which says why.
// An Emission has no effects.
func Step(s State, sig Signal, lim Limits) (State, []Effect) {
	effects := s.Step(&sig, &lim)
	return s, effects
}

// Step is the function of that name in place: s becomes the state after sig. A
// copy of what it was before is an older State like any other.
func (s *State) Step(sig *Signal, lim *Limits) []Effect {
	m := machine{s: s, at: sig.At, lim: *lim}
	m.prepare()
	switch {
	case !s.Phase.expects(sig.Kind):
		m.ignore("not expected in this phase")
	case sig.Kind != Submit && sig.Run != "" && sig.Run != s.Run.ID:
		m.ignore("for another run")
	default:
		m.take(sig)
	}
	return m.effects
}

func (m *machine) take(sig *Signal) {
	switch sig.Kind {
	case Submit:
		m.submit(sig)
	case Emission:
		m.stream(sig.Delta)
	case StreamEnd:
		m.answer(sig)
	case Held:
		m.hold(sig)
	case ToolSettled:
		m.settle(sig)
	case Answered:
		m.hear(sig)
	case CompactEnd:
		m.shrink(sig)
	case Abort:
		m.abort(sig)
	case Fault:
		m.fault(sig)
	}
}

// machine is one step being made.
type machine struct {
	s       *State
	at      time.Time
	lim     Limits
	effects []Effect
}

// prepare makes of what the machine was given what it works with.
func (m *machine) prepare() {
	if s := m.s; s.Run == nil && s.Phase != Settled && s.Phase != Faulted {
		s.Phase = Idle
	}
	m.s.mine = false
	m.at = logged(m.at)
	m.lim.setDefaults()
}

// logged is t without what the log cannot hold, so that the state does not
// either: a monotonic clock, a zone.
func logged(t time.Time) time.Time { return t.UTC().Round(0) }

func (m *machine) do(e Effect) {
	if m.s.Run != nil {
		e.Run = m.s.Run.ID
	}
	m.effects = append(m.effects, e)
}

func (m *machine) ignore(why string) { m.do(Effect{Kind: Ignored, Why: why}) }

// emit adds an event to the next commit and folds it.
func (m *machine) emit(e *Event) {
	next := m.event(e.Type)
	*next = *e
	if next.At.IsZero() {
		next.At = m.at
	}
	next.At, next.Deadline = logged(next.At), logged(next.Deadline)
	m.fold(next)
}

// event is the next of the commit, to be filled and then folded. An Event is
// large: what each answer emits is made where it stays.
func (m *machine) event(t EventType) *Event {
	s := m.s
	if s.pending == nil {
		s.pending = newEvents()
	}
	n := len(s.pending)
	s.pending = slices.Grow(s.pending, 1)[:n+1]
	e := &s.pending[n]
	e.Type, e.At = t, m.at
	return e
}

// fold folds what event has given.
func (m *machine) fold(e *Event) {
	e.clean()
	m.s.fold(e)
}

// clean makes of e what it is when it is read back: bytes that JSON cannot hold
// are replaced, and JSON inside it is as it will be written.
func (e *Event) clean() {
	for _, s := range []*string{&e.Name, &e.Result, &e.Prompt, &e.Answer, &e.By, &e.Summary} {
		if *s != "" { // as most are
			*s = valid(*s)
		}
	}
	e.Args, e.Context = written(e.Args), written(e.Context)
	if e.Message == nil || !dirty(e.Message.Parts) {
		return
	}
	m := *e.Message
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Text, p.Name, p.Args, p.Meta = valid(p.Text), valid(p.Name), written(p.Args), written(p.Meta)
	}
	e.Message = &m
}

func dirty(parts []llm.Part) bool {
	for i := range parts {
		p := &parts[i]
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Name) || len(p.Args) > 0 || len(p.Meta) > 0 {
			return true
		}
	}
	return false
}

// written is data as a log has it, where what is nested too deep could not be read again.
func written(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return data
	}
	if compact, err := json.Marshal(json.RawMessage(fastjson.Shallow(data))); err == nil {
		return compact
	}
	return data
}

func valid(s string) string {
	if utf8.ValidString(s) { // which is much the faster of the two
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
