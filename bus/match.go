package bus

import (
	"slices"
	"strings"
)

// Overlap reports whether there is a subject that both filters take.
func Overlap(a, b string) bool {
	at, bt := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(at), len(bt)) {
		switch x, y := at[i], bt[i]; {
		case x == ">", y == ">":
			return true
		case x != y && x != "*" && y != "*":
			return false
		}
	}
	return len(at) == len(bt)
}

// covers reports whether every subject that b takes is taken by a.
func covers(a, b string) bool {
	for {
		at, aRest, aMore := strings.Cut(a, ".")
		if at == ">" {
			return true
		}
		bt, bRest, bMore := strings.Cut(b, ".")
		switch {
		case bt == ">", at != "*" && at != bt:
			return false
		case !aMore || !bMore:
			return aMore == bMore
		}
		a, b = aRest, bRest
	}
}

// Matches reports whether subject is one that filter takes; of a subject with
// wildcards, whether filter takes all that it stands for.
func Matches(filter, subject string) bool { return covers(filter, subject) }

// Minimal sorts subjects and leaves out those that others cover. There may be
// thousands, one of each agent, but few with a wildcard, which alone cover
// others.
func Minimal(subjects []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(subjects)))
	var wide []string
	for _, s := range sorted {
		if strings.ContainsAny(s, "*>") {
			wide = append(wide, s)
		}
	}
	return slices.DeleteFunc(sorted, func(s string) bool {
		return slices.ContainsFunc(wide, func(other string) bool { return other != s && covers(other, s) })
	})
}
