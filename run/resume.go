package run

import (
	"time"
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

// restart counts one more attempt of the run and takes it up as Resume does.
func (m *machine) restart(sig *Signal) {
	if sig.Attempt <= m.s.Run.Attempt {
		m.ignore("this run is under way")
		return
	}
	m.emit(&Event{Type: Started, Run: sig.Run, Trigger: m.s.Run.Trigger, Attempt: sig.Attempt, Handed: sig.Handed, Lost: sig.Lost})
	m.resume()
}
