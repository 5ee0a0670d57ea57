package session

import (
	"time"

	"agenthost/bus"
	"agenthost/run"
)

// apply folds events that were read from the log.
func (l *Log) apply(events []run.Event) {
	for _, e := range events {
		l.state = run.Fold(l.state, e)
	}
}

// refuse takes down an input that was refused.
func (l *Log) refuse(e *run.Event, seq uint64) {
	switch {
	case e.Input == nil: // it does not fit
		return
	case e.Since > 0:
		l.ids.refuse(e.Since, e.Input.Seq, seq)
	default:
		l.ids.set(e.Input.ID, seq)
	}
	l.replied, l.spokeAt = seq, time.Time{}
}

// note takes down what a stored commit means for the ids. Most runs begin and end
// in one: then each id is looked up once.
func (l *Log) note(seq uint64, size int, events []run.Event) {
	l.seq = seq
	l.since++
	l.tail += size
	known := len(l.open)
	for i := range events {
		e := &events[i]
		if e.Input != nil && !noRuns(e) { // an answer: it belongs to the running run
			l.open = append(l.open, e.Input.ID)
			_, _, chat := bus.Channel(e.Input.Subject)
			l.brought = l.brought || !chat && e.Input.Subject != ""
		}
		switch e.Type {
		case run.Started:
			for j := range e.Inputs {
				id := e.Inputs[j].ID
				l.open = append(l.open, id)
				_, waited := l.ids.get(id)
				l.brought = l.brought || waited
			}
		case run.InputAdded:
			switch {
			case e.Input == nil: // as the fold, it leaves what does not fit
			case e.Run != "": // it joined the running run
				l.open = append(l.open, e.Input.ID)
			default:
				l.ids.set(e.Input.ID, 0)
			}
		case run.InputRefused:
			l.refuse(e, seq)
		case run.OperatorJoined, run.OperatorHeard, run.OperatorSaid, run.OperatorLeft:
			l.end(e, seq)
		case run.Replied:
			l.replied, l.spokeAt = seq, time.Time{}
			if l.brought {
				l.spokeAt = e.At.UTC()
			}
			l.spoken.reply(seq)
		case run.Compacted:
			l.fresh = true
		case run.Finished:
			for _, id := range l.open {
				l.ids.set(id, seq)
			}
			l.open, known = l.open[:0], 0
			l.brought = false
			l.spoken.end(seq)
		default:
			if e.Ends() {
				l.end(e, seq)
			}
		}
	}
	for _, id := range l.open[known:] {
		l.ids.set(id, 0)
	}
}

// end takes down that an input has its end without a run, and perhaps a reply.
func (l *Log) end(e *run.Event, seq uint64) {
	if e.Input != nil {
		l.ids.set(e.Input.ID, seq)
	}
	if e.Reply != nil {
		l.replied, l.spokeAt = seq, time.Time{}
	}
}

// noRuns reports whether the input of an event has its end there, or waits for a run.
func noRuns(e *run.Event) bool {
	switch e.Type {
	case run.InputAdded, run.OperatorJoined, run.OperatorHeard, run.OperatorSaid, run.OperatorLeft:
		return true
	}
	return e.Ends()
}
