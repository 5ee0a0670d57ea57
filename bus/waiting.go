package bus

import (
	"time"

	"github.com/rs/zerolog"
)

// A Waiting logs what a start waits for: each reason once, and in between, more and more
// rarely, that it still does.
type Waiting struct {
	Log   zerolog.Logger
	since time.Time
	said  map[string]bool
	next  time.Time
	every time.Duration
}

const (
	waitingFirst = 5 * time.Second
	waitingMost  = time.Minute
	waitingSaid  = 20 // reasons are remembered
)

// Say is called with every failed try.
func (w *Waiting) Say(reason error, what string) {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	if text := reason.Error(); !w.said[text] {
		if w.said == nil || len(w.said) == waitingSaid {
			w.said = map[string]bool{}
		}
		w.said[text], w.every = true, waitingFirst
		w.Log.Warn().Time("since", w.since).Err(reason).Msg(what)
	} else if now.Before(w.next) {
		return
	} else {
		w.every = min(2*w.every, waitingMost)
		w.Log.Info().Time("since", w.since).Msg(what)
	}
	w.next = now.Add(w.every)
}
