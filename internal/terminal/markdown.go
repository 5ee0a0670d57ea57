package terminal

import (
	"io"
	"strings"
	"unicode"
)

// A Markdown writer shows Markdown as it comes: headings, lists, code and
// emphasis. Without colour the text stays as it is. What it holds back, a few
// signs at most, Flush writes.
type Markdown struct {
	w      io.Writer
	screen Screen

	held    string // may become a mark
	inline  bool   // the line has begun
	block   bool   // in a block of code
	fence   bool   // the line is a fence, of which nothing is shown
	heading bool
	bold    bool
	italic  bool
	code    bool
	last    rune
	before  rune // the stars that are held
}

// NewMarkdown makes a writer for a screen.
func NewMarkdown(w io.Writer, s Screen) *Markdown { return &Markdown{w: w, screen: s} }

// WriteString writes a piece of the text.
func (m *Markdown) WriteString(text string) {
	if !m.screen.Color {
		_, _ = io.WriteString(m.w, text) // as with fmt.Print, there is no one to report to
		return
	}
	var out strings.Builder
	for _, r := range text {
		m.rune(&out, r)
	}
	_, _ = io.WriteString(m.w, out.String())
}

// Flush writes what is held back, and ends what the text has left open.
func (m *Markdown) Flush() {
	if m.screen.Color {
		var out strings.Builder
		m.release(&out)
		_, _ = io.WriteString(m.w, out.String())
	}
	*m = Markdown{w: m.w, screen: m.screen}
}

func (m *Markdown) rune(out *strings.Builder, r rune) {
	switch {
	case r == '\n':
		m.endLine(out)
	case m.fence:
	case !m.inline:
		m.held += string(r)
		m.begin(out)
	default:
		m.sign(out, r)
	}
	m.last = r
}

// endLine ends a line, and all that does not go beyond one.
func (m *Markdown) endLine(out *strings.Builder) {
	m.release(out)
	if !m.fence {
		out.WriteByte('\n')
	}
	m.inline, m.fence, m.heading, m.bold, m.italic, m.code = false, false, false, false, false, false
}

// release writes what is held as it is.
func (m *Markdown) release(out *strings.Builder) {
	held := m.held
	m.held = ""
	if held == "" {
		return
	}
	if strings.Trim(held, "*") == "" && m.inline {
		m.emphasis(out, held, ' ')
		return
	}
	m.put(out, held)
}

// begin looks at how a line begins, as soon as that is clear.
func (m *Markdown) begin(out *strings.Builder) {
	line := strings.TrimLeft(m.held, " ")
	indent := m.held[:len(m.held)-len(line)]
	switch {
	case strings.HasPrefix(line, "```"):
		m.held, m.fence, m.block = "", true, !m.block
		return
	case line == "" || strings.HasPrefix("```", line):
		return // it may become one
	case m.block:
	case strings.Trim(line, "#") == "" && len(line) <= 6, line == "-", line == "*", line == "+":
		return
	case strings.HasSuffix(line, " ") && strings.Trim(line, "# ") == "":
		m.heading, m.inline, m.held = true, true, ""
		return
	case line == "- ", line == "* ", line == "+ ":
		m.inline, m.held = true, ""
		m.put(out, indent+"• ")
		return
	}
	held := m.held
	m.inline, m.held, m.last = true, "", ' '
	if m.block {
		m.put(out, "  ")
	}
	for _, r := range held {
		m.sign(out, r)
		m.last = r
	}
}

// sign writes one sign of a line, or takes it as a mark.
func (m *Markdown) sign(out *strings.Builder, r rune) {
	switch {
	case m.block:
		m.put(out, string(r))
	case r == '`':
		m.release(out)
		m.code = !m.code
	case m.code:
		m.put(out, string(r))
	case r == '*' && len(m.held) < 2:
		if m.held == "" {
			m.before = m.last
		}
		m.held += "*"
	default:
		stars := m.held
		m.held = ""
		m.emphasis(out, stars, r)
		m.put(out, string(r))
	}
}

// emphasis begins or ends what one or two stars stand for; next is the sign behind
// them. Within a word, or with a blank on the inner side, they are stars.
func (m *Markdown) emphasis(out *strings.Builder, stars string, next rune) {
	var on *bool
	switch stars {
	case "*":
		on = &m.italic
	case "**":
		on = &m.bold
	default:
		return
	}
	if !*on && (next == ' ' || unicode.IsLetter(m.before) || unicode.IsDigit(m.before)) || *on && m.before == ' ' {
		m.put(out, stars)
		return
	}
	*on = !*on
}

// put writes text as it looks by now.
func (m *Markdown) put(out *strings.Builder, text string) {
	style := Plain
	switch {
	case m.block, m.code:
		style = Cyan
	case m.heading, m.bold:
		style = Bold
	case m.italic:
		style = Italic
	}
	out.WriteString(m.screen.Paint(style, text))
}
