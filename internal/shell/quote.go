package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ambiguous faults what shells read differently, in a text and the statements
// that were read in it: a backslash before the end of a line, which joins lines
// for one shell and not for another, unless single quotes hide it; and a single
// quote in a ${…} between double quotes, which is a quote or a character.
func (r *reading) ambiguous(text string, stmts []*syntax.Stmt) {
	joins := strings.Count(text, "\\\n")
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.SglQuoted:
				if !n.Dollar {
					joins -= strings.Count(source(text, n), "\\\n")
				}
			case *syntax.DblQuoted:
				r.quoted(text, n)
			case *syntax.Redirect:
				if n.Hdoc != nil {
					r.quoted(text, n.Hdoc)
				}
			}
			return true
		})
	}
	if joins > 0 {
		r.fault("shells join lines differently")
	}
}

// quoted looks at the expansions in what is between double quotes, or is a
// here-document.
func (r *reading) quoted(text string, node syntax.Node) {
	syntax.Walk(node, func(node syntax.Node) bool {
		if p, ok := node.(*syntax.ParamExp); ok && strings.Contains(source(text, p), "'") {
			r.fault("shells read a quote in an expansion differently")
		}
		return true
	})
}

// onlyOfBash reports whether a statement has words that are no commands to bash alone:
// in [[ a || rm == x ]] and behind $'\” others see some.
func onlyOfBash(stmt *syntax.Stmt) (found bool) {
	syntax.Walk(stmt, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
			found = true
		case *syntax.SglQuoted:
			found = found || n.Dollar
		}
		return !found
	})
	return found
}

// source is a node as it is written.
func source(text string, node syntax.Node) string {
	from, to := node.Pos().Offset(), node.End().Offset()
	if from > to || to > uint(len(text)) {
		return text
	}
	return text[from:to]
}
