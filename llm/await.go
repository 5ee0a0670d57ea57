package llm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

var (
	errParked  = errors.New("not asked after a rate limit")
	errOpen    = errors.New("not asked after many failures")
	errTripped = errors.New("taken out of service by hand")
)

// await waits until one of the gates may have opened. It is false when none is
// worth it.
func (s *chainStream) await(legs []leg) bool {
	woken := make(chan struct{}, 1)
	for i := range legs {
		if !legs[i].over {
			legs[i].Gate.watch(woken)
			defer legs[i].Gate.unwatch(woken)
		}
	}
	start := time.Now()
	d, ok := s.soonest(legs, start)
	if !ok {
		return false
	}
	ok = s.sleep(d, woken)
	s.waited += time.Since(start)
	return ok
}

// soonest is how long to wait for the first gate to open; false when that is
// too long, or for ever.
func (s *chainStream) soonest(legs []leg, now time.Time) (time.Duration, bool) {
	left := patience - s.waited
	if deadline, ok := s.ctx.Deadline(); ok {
		left = min(left, deadline.Sub(now))
	}
	var first time.Time
	for i := range legs {
		l := &legs[i]
		if l.over {
			continue
		}
		l.shut = l.Gate.look()
		until := l.shut.until
		switch {
		case l.shut.why == "":
			return 0, true
		case l.shut.why == SkipTripped:
			continue
		case until.IsZero(): // a probe is under way, and will tell
			until = now.Add(left)
		}
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	d := first.Sub(now)
	if first.IsZero() || left <= 0 || d > left {
		return 0, false
	}
	return d + rand.N(firstWait), true // not all runs at once
}

// fault is what a link has failed by.
func (l *leg) fault() *Error {
	if l.err != nil {
		return l.err
	}
	switch err := l.shut.why.fault(); l.shut.why {
	case SkipParked:
		return &Error{Code: CodeProviderRateLimit, Transient: true, RetryAfter: max(time.Until(l.shut.until), 0), Err: err}
	case SkipTripped:
		return &Error{Code: CodeProviderUnavailable, Err: err}
	default:
		return &Error{Code: CodeProviderUnavailable, Transient: true, Err: err}
	}
}

func (s Skip) fault() error {
	switch s {
	case SkipParked:
		return errParked
	case SkipTripped:
		return errTripped
	default:
		return errOpen
	}
}

// verdict is the error of a chain that has failed as a whole.
func (s *chainStream) verdict(legs []leg) error {
	if s.ctx.Err() != nil {
		return Stopped(s.ctx)
	}
	last := legs[len(legs)-1].fault()
	if len(legs) == 1 {
		return last
	}
	all := *last
	reasons := make([]string, len(legs))
	for i := range legs {
		err := legs[i].fault()
		if err.Code != last.Code {
			all.Code, all.Status = CodeProviderUnavailable, 0
		}
		reasons[i] = fmt.Sprintf("%s: %v", name(&legs[i]), err.Err)
	}
	all.Err = fmt.Errorf("none of %d models answers: %s", len(legs), strings.Join(reasons, "; "))
	return &all
}

func name(l *leg) string {
	if l.Gate.Name() != "" {
		return l.Gate.Name()
	}
	return l.Name
}
