package bus

import (
	"slices"
	"strings"
)

// maxFilters is how many filters a lane's consumer has before it takes the
// whole stream and the host sorts.
const maxFilters = 64

// Filters is the smallest set of filter subjects that takes what any of the
// given ones takes: the server refuses filters that overlap. Past maxFilters
// it is all alone.
func Filters(subjects []string, all string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(subjects)))
	kept := slices.DeleteFunc(slices.Clone(sorted), func(s string) bool {
		return slices.ContainsFunc(sorted, func(other string) bool { return other != s && covers(other, s) })
	})
	if len(kept) > maxFilters {
		return []string{all}
	}
	return kept
}

// covers reports whether every subject that b takes is taken by a.
func covers(a, b string) bool {
	at, bt := strings.Split(a, "."), strings.Split(b, ".")
	for i, token := range at {
		switch {
		case token == ">":
			return len(bt) > i
		case i >= len(bt), bt[i] == ">":
			return false
		case token != "*" && token != bt[i]:
			return false
		}
	}
	return len(at) == len(bt)
}

// Matches reports whether subject is one that filter takes.
func Matches(filter, subject string) bool { return covers(filter, subject) }
