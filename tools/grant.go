package tools

import (
	"path"
	"slices"
	"strings"
)

// A Grant says which tools an agent has: those whose name matches one of the
// globs, for each list of globs it was narrowed by. In a glob * stands for any
// text, dots included. The zero Grant grants nothing.
type Grant struct {
	steps [][]string
}

// GrantOf grants the tools that match one of globs.
func GrantOf(globs ...string) Grant {
	return Grant{steps: [][]string{globs}}
}

// Narrow is g without the tools that match none of globs. It never grants more
// than g.
func (g Grant) Narrow(globs ...string) Grant {
	if len(g.steps) == 0 {
		return g
	}
	return Grant{steps: append(slices.Clip(g.steps), globs)}
}

// Allows reports whether a tool with this name is granted.
func (g Grant) Allows(name string) bool {
	for _, globs := range g.steps {
		if !slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, name) }) {
			return false
		}
	}
	return len(g.steps) > 0
}

// Overlap reports whether some name could match both globs. Of what it does not
// look into, such as [a-z], it takes for granted that it could.
func Overlap(a, b string) bool {
	if strings.ContainsAny(a+b, `[\`) {
		return true
	}
	// common[j] reports whether the rest of a and b[j:] have a name in common.
	common := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		next := slices.Clone(common)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				common[j] = true
			case i < len(a) && a[i] == '*':
				common[j] = next[j] || j < len(b) && common[j+1]
			case j < len(b) && b[j] == '*':
				common[j] = common[j+1] || i < len(a) && next[j]
			case i < len(a) && j < len(b):
				common[j] = (a[i] == b[j] || a[i] == '?' || b[j] == '?') && next[j+1]
			default:
				common[j] = false
			}
		}
	}
	return common[0]
}

// matches reports whether glob stands for the name of a tool. A glob that is malformed
// matches itself only.
func matches(glob, name string) bool {
	// The names of a server may have slashes, which are no borders here.
	return matchesPath(plainSlashes.Replace(glob), plainSlashes.Replace(name))
}

var plainSlashes = strings.NewReplacer("/", "\x00")

// matchesPath is matches for a command, which may be a path: * stands for no slash.
func matchesPath(glob, name string) bool {
	if glob == name {
		return true
	}
	ok, err := path.Match(glob, name)
	return err == nil && ok && isGlob(glob)
}

func isGlob(s string) bool { return strings.ContainsAny(s, "*?") }
