package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// An arg is one word of a command as the command gets to see it.
type arg struct {
	text string
	// fixed tells that the command gets text, in every run. When it is not,
	// the shell makes none, one or many words of it.
	fixed bool
}

func argsOf(words []*syntax.Word) []arg {
	args := make([]arg, len(words))
	for i, w := range words {
		args[i] = argOf(w)
	}
	return args
}

func argOf(w *syntax.Word) arg {
	a := arg{fixed: true}
	if lit, ok := w.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "~") {
		a.fixed = false
	}
	for _, part := range w.Parts {
		text, fixed := unquote(part)
		a.text += text
		a.fixed = a.fixed && fixed
	}
	return a
}

func unquote(part syntax.WordPart) (text string, fixed bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return unescape(p.Value)
	case *syntax.SglQuoted:
		// $'…' has escapes, and only some shells know it.
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		text, fixed = unquoteDouble(p.Parts)
		return text, fixed && !p.Dollar // $"…" is translated
	default:
		return "", false
	}
}

// unescape removes the backslashes of unquoted text, which is fixed unless the
// shell makes file names or several words of it.
func unescape(s string) (text string, fixed bool) {
	var b strings.Builder
	fixed = true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case c == '*', c == '?', c == '[' && s != "[" && s != "[[", c == '{' && !strings.HasPrefix(s[i:], "{}"):
			fixed = false
		}
		b.WriteByte(s[i])
	}
	return b.String(), fixed
}

// unquoteDouble is what is between double quotes, where a backslash means
// something before a few characters only.
func unquoteDouble(parts []syntax.WordPart) (text string, fixed bool) {
	var b strings.Builder
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		for i := 0; i < len(lit.Value); i++ {
			if rest := lit.Value[i+1:]; lit.Value[i] == '\\' && rest != "" && strings.Contains("$`\"\\", rest[:1]) {
				i++
			}
			b.WriteByte(lit.Value[i])
		}
	}
	return b.String(), true
}

// joined is args as one text, as eval sees them; ok is false when one is not
// fixed.
func joined(args []arg) (text string, ok bool) {
	texts := make([]string, len(args))
	for i, a := range args {
		if !a.fixed {
			return "", false
		}
		texts[i] = a.text
	}
	return strings.Join(texts, " "), true
}
