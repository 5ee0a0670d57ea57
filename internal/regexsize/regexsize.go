// Package regexsize tells how large a regular expression is before it is compiled.
//
// A match takes time in proportion to that size, and a compiled expression takes room:
// (.{1000}…) of a kilobyte can be a million steps, each for every character of a text.
package regexsize

import "regexp/syntax"

// Of is about how many steps a compiled expression has; 0 for one that does not parse.
func Of(expr string) int {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0
	}
	return steps(re)
}

func steps(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpRepeat: // the parser bounds all that are in one another
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
