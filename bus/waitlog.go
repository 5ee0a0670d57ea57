package bus

import (
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A WaitLog logs what a start waits for: each reason once, and in between, more and more
// rarely, that it still does.
type WaitLog struct {
	Log   zerolog.Logger
	since time.Time
	said  map[string]bool
	next  time.Time
	every time.Duration
}

const (
	waitLogFirst = 5 * time.Second
	waitLogMost  = time.Minute
	waitLogSaid  = 20 // reasons are remembered
)

// Say is called with every failed try.
func (w *WaitLog) Say(reason error, what string) {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	text := reason.Error()
	if api := (*jetstream.APIError)(nil); errors.As(reason, &api) { // servers explain one thing in several ways
		text = strings.ReplaceAll(text, api.Description, "")
	}
	if !w.said[text] {
		if w.said == nil || len(w.said) == waitLogSaid {
			w.said = map[string]bool{}
		}
		w.said[text], w.every = true, waitLogFirst
		w.Log.Warn().Time("since", w.since).Err(reason).Msg(what)
	} else if now.Before(w.next) {
		return
	} else {
		w.every = min(2*w.every, waitLogMost)
		w.Log.Info().Time("since", w.since).Msg(what)
	}
	w.next = now.Add(w.every)
}
