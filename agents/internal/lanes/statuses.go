package lanes

import (
	"cmp"
	"slices"
	"time"
)

// A Status is how a lane is served here: all of its streams together.
type Status struct {
	Lane  int
	Since time.Time
	Lag   uint64 // messages that are not done
}

// Statuses are the lanes that this host serves, by their numbers.
func (s *Set) Statuses() (list []Status) {
	since := map[int]time.Time{}
	lost := map[int]time.Time{}
	lanes := *s.lanes.Load()
	for id, f := range lanes {
		if at := f.lane.Lost(); at.After(lost[id.n]) {
			lost[id.n] = at
		}
	}
	lag := map[int]uint64{}
	for id, f := range lanes {
		at := f.lane.Since()
		if at.IsZero() || f.partition.Load() != nil {
			continue
		}
		lag[id.n] += f.lane.Lag()
		if was, ok := since[id.n]; ok {
			at = servedSince(was, at, lost[id.n])
		}
		since[id.n] = at
	}
	for n, at := range since {
		list = append(list, Status{Lane: n, Since: at, Lag: lag[n]})
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Lane, b.Lane) })
	return list
}

// servedSince is which of two times at which streams of a lane have come is that of the lane: the
// earlier, unless a stream of it was lost after that. A stream without messages stays with a host
// that stands still, while another one serves the rest.
func servedSince(a, b, lost time.Time) time.Time {
	if b.Before(a) {
		a, b = b, a
	}
	if a.Before(lost) && !b.Before(lost) {
		return b
	}
	return a
}
