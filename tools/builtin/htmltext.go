package builtin

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText is what a page says: its text without tags, scripts and styles, a
// line for each block.
func htmlText(page string) string {
	var text strings.Builder
	var hidden atom.Atom // the element that hides what is in it; 0: none
	for in := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := in.Next()
		token := in.Token()
		switch {
		case kind == html.ErrorToken:
			return tidy(text.String())
		case hidden != 0:
			if kind == html.EndTagToken && token.DataAtom == hidden {
				hidden = 0
			}
		case kind == html.TextToken:
			text.WriteString(unbroken.Replace(token.Data))
		case kind == html.StartTagToken && hides(token.DataAtom):
			hidden = token.DataAtom
		default:
			text.WriteString(gap(token.DataAtom))
		}
	}
}

// unbroken takes the line ends out of text: only blocks end lines.
var unbroken = strings.NewReplacer("\n", " ", "\r", " ")

func hides(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe:
		return true
	}
	return false
}

// gap is what the beginning or the end of an element puts into the text.
func gap(tag atom.Atom) string {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Code, atom.Em, atom.I, atom.Mark, atom.Q, atom.S, atom.Small,
		atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, 0:
		return ""
	case atom.Td, atom.Th:
		return " "
	}
	return "\n"
}

// tidy leaves single spaces and no empty lines.
func tidy(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			out.WriteString(strings.Join(words, " "))
			out.WriteByte('\n')
		}
	}
	return out.String()
}
