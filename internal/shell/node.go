package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// visit takes in one node of a parsed line; the walk comes to its children.
func (r *reading) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.CallExpr:
		r.call(argsOf(n.Args))
	case *syntax.Redirect:
		r.redirect(n)
	case *syntax.Assign:
		r.doubts("sets a variable")
	case *syntax.DeclClause:
		r.names[n.Variant.Value] = true
		r.doubts("changes variables")
	case *syntax.WordIter:
		r.loop(n.Name.Value)
	case *syntax.ParamExp:
		r.param(n)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			r.fault("a test of a computed variable may run commands")
		}
	default:
		r.arithmetic(node)
	}
	return true
}

// loop takes in the variable of a for: one that programs or the shell look at
// may change what a name means. Theirs are in upper case by custom, but for the
// proxies.
func (r *reading) loop(variable string) {
	if variable != strings.ToLower(variable) || strings.Contains(variable, "proxy") {
		r.doubts("sets a variable")
	}
}

func (r *reading) param(p *syntax.ParamExp) {
	if p.Excl {
		r.fault("a variable named by a variable may run commands")
	}
	if p.Index != nil && !constant(p.Index) && !isAll(p.Index) {
		r.fault("an index that is not a number may run commands")
	}
	if s := p.Slice; s != nil && (!constant(s.Offset) || !constant(s.Length)) {
		r.fault("an offset that is not a number may run commands")
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		r.doubts("sets a variable")
	case syntax.OtherParamOps: // ${x@P} runs the substitutions in x
		r.fault("an expansion may run commands")
	}
}

// isAll reports whether an index is the @ or * of all elements.
func isAll(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// arithmetic faults expressions with anything but numbers in them: shells
// evaluate what a variable holds once more, and run the substitutions in it.
func (r *reading) arithmetic(node syntax.Node) {
	ok := true
	switch n := node.(type) {
	case *syntax.ArithmExp:
		ok = constant(n.X)
	case *syntax.ArithmCmd:
		ok = constant(n.X)
	case *syntax.LetClause, *syntax.CStyleLoop:
		ok = false
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			ok = constant(n.X) && constant(n.Y)
		}
	}
	if !ok {
		r.fault("arithmetic with more than numbers may run commands")
	}
}

func constant(x syntax.Node) bool {
	if x == nil {
		return true // the length that ${x:1} does not have
	}
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, is := n.(*syntax.Word); is {
			ok = ok && isNumber(w.Lit())
		}
		return ok
	})
	return ok
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// redirect takes in a redirection. /dev/null may be written; bash opens a
// connection for /dev/tcp and /dev/udp, reading included.
func (r *reading) redirect(d *syntax.Redirect) {
	if d.N != nil && !isNumber(d.N.Value) {
		r.doubts("sets a variable") // {fd}>file
	}
	to := argOf(d.Word)
	var harmless bool
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		harmless = true
	case syntax.DplIn, syntax.DplOut:
		harmless = to.fixed && (to.text == "-" || isNumber(strings.TrimSuffix(to.text, "-")))
	case syntax.RdrIn:
		harmless = to.fixed && !strings.HasPrefix(to.text, "/dev/tcp/") && !strings.HasPrefix(to.text, "/dev/udp/")
	default:
		harmless = to.fixed && to.text == "/dev/null"
	}
	r.writes = r.writes || !harmless
}
