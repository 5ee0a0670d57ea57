package delivery

import (
	"slices"

	"agenthost/bus"
)

// maxFilters is how many filters a lane's consumer has before it takes the
// whole stream and the host sorts. Then every lane brings every message, which
// costs more than many filters do: with 1,000 agents a quarter of all time. But
// with thousands the start takes long, and memory.
const maxFilters = 512

// Filters is the smallest set of filter subjects that takes what any of the
// given ones takes: the server refuses filters that overlap. Past maxFilters,
// or where two overlap and neither covers the other, it is all alone.
func Filters(subjects []string, all string) []string {
	kept := bus.Minimal(subjects)
	if len(kept) > maxFilters || crossing(kept) {
		return []string{all}
	}
	return kept
}

// crossing reports whether two of the filters take one subject.
func crossing(filters []string) bool {
	for i, a := range filters {
		if slices.ContainsFunc(filters[i+1:], func(b string) bool { return bus.Overlap(a, b) }) {
			return true
		}
	}
	return false
}
