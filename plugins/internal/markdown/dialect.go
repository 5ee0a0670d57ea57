// Package markdown turns the Markdown that models write into what platforms show.
//
// A [Dialect] describes a platform's own markup. [Plain] and [HTML] are ready-made;
// others are made from a Dialect by the channel that needs them. HTML in a source
// is text, and only http, https and mailto addresses become links.
package markdown

import "strings"

// A Dialect is how a platform writes what Markdown says. The zero Dialect writes
// text without markup, as [Plain] does.
type Dialect struct {
	// Escape makes text that the platform shows as it is; EscapeCode does that for
	// code. nil: nothing needs it.
	Escape, EscapeCode func(text string) string
	// A mark within itself is written once, so the two sides may be the same.
	Bold, Italic, Strike, Code Mark
	// CodeSpan writes code within a line. nil: it is escaped, with the mark Code around it.
	CodeSpan func(code string) string
	// Pre writes a block of code; the code is escaped and has no newline at its end,
	// the language may be empty. nil: as it is. Tables come here as well, as aligned
	// text with the language "".
	Pre func(code, language string) string
	// Link writes a link, with its text already written. An empty text is an address
	// that stands for itself. nil: the text, and the address in brackets.
	Link func(text, url string) string
	// Heading writes a heading. nil: it is bold.
	Heading func(level int, text string) string
	// Paragraph writes a paragraph. nil: as it is.
	Paragraph func(text string) string
	// Quote writes a quote of one or more blocks. nil: each line begins with "> ".
	Quote func(text string) string
	// List writes a whole list. nil: each item begins with Bullet or its number, and
	// its other lines are indented.
	List func(ordered bool, start int, items []string) string
	// Bullet is before each item of a list; empty: "• ".
	Bullet string
	// Rule is a line between two topics; empty: "———".
	Rule string
	// Newline is a line break within a paragraph; empty: "\n".
	Newline string
	// Blocks is between two blocks; empty: "\n\n".
	Blocks string
}

// A Mark is what stands around a text.
type Mark struct{ Open, Close string }

// Around is a Mark with the same on both sides.
func Around(s string) Mark { return Mark{s, s} }

// Plain is text without markup.
var Plain = Dialect{}

// Escape makes Markdown that says text as it is, on one line.
func Escape(text string) string { return escapes.Replace(text) }

var escapes = func() *strings.Replacer {
	pairs := []string{"\r", " ", "\n", " "}
	for _, c := range "\\`*_{}[]()<>#+-.!|~&" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()
