package email

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A page is HTML on its way to be text.
type page struct {
	b      strings.Builder
	line   strings.Builder
	hidden int // depth within what is not shown
	quotes int
	pre    int
	links  []string
}

// fromHTML is the text of a page. Quotes get "> ", links their address.
func fromHTML(source string) string {
	var p page
	tokens := html.NewTokenizer(strings.NewReader(source))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			p.flush()
			return tidy(p.b.String())
		case html.TextToken:
			p.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := tokens.Token()
			p.open(t)
			if t.Type == html.SelfClosingTagToken && t.DataAtom != atom.Br {
				p.close(t.DataAtom)
			}
		case html.EndTagToken:
			p.close(tokens.Token().DataAtom)
		}
	}
}

func (p *page) text(raw string) {
	if p.hidden > 0 {
		return
	}
	text := html.UnescapeString(raw)
	if p.pre > 0 {
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				p.flush()
			}
			p.line.WriteString(line)
		}
		return
	}
	if text != "" && strings.TrimLeft(text, " \t\r\n") != text && p.line.Len() > 0 {
		p.line.WriteByte(' ')
	}
	p.line.WriteString(strings.Join(strings.Fields(text), " "))
	if words := strings.TrimRight(text, " \t\r\n"); words != "" && words != text {
		p.line.WriteByte(' ')
	}
}

func (p *page) open(t html.Token) {
	switch t.DataAtom {
	case atom.Script, atom.Style, atom.Title: // of the head the rest says nothing, and its end may be left out
		p.hidden++
	case atom.Blockquote:
		p.flush()
		p.quotes++
	case atom.Pre:
		p.flush()
		p.pre++
	case atom.Br:
		p.flush()
	case atom.Li:
		p.flush()
		p.line.WriteString("• ")
	case atom.A:
		address := ""
		for _, a := range t.Attr {
			if a.Key == "href" && (strings.HasPrefix(a.Val, "http:") || strings.HasPrefix(a.Val, "https:")) {
				address = a.Val
			}
		}
		p.links = append(p.links, address)
	case atom.P, atom.Div, atom.Tr, atom.Ul, atom.Ol, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hr:
		p.block(t.DataAtom)
	case atom.Td, atom.Th:
		p.line.WriteByte(' ')
	}
}

func (p *page) close(a atom.Atom) {
	switch a {
	case atom.Script, atom.Style, atom.Title:
		p.hidden = max(p.hidden-1, 0)
	case atom.Blockquote:
		p.flush()
		p.quotes = max(p.quotes-1, 0)
	case atom.Pre:
		p.flush()
		p.pre = max(p.pre-1, 0)
	case atom.A:
		if n := len(p.links); n > 0 {
			if address := p.links[n-1]; address != "" && !strings.Contains(p.line.String(), address) {
				p.line.WriteString(" (" + address + ")")
			}
			p.links = p.links[:n-1]
		}
	case atom.P, atom.Div, atom.Tr, atom.Li, atom.Ul, atom.Ol, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.block(a)
	}
}

// block ends a line, and leaves one empty around a paragraph.
func (p *page) block(a atom.Atom) {
	p.flush()
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Ul, atom.Ol:
		p.b.WriteByte('\n')
	}
}

func (p *page) flush() {
	line := strings.TrimRight(p.line.String(), " ")
	p.line.Reset()
	if line == "" && p.pre == 0 {
		return
	}
	p.b.WriteString(strings.Repeat("> ", min(p.quotes, mostNested)) + line + "\n")
}

var empty = regexp.MustCompile(`\n{3,}`)

func tidy(text string) string {
	return strings.TrimSpace(empty.ReplaceAllString(text, "\n\n"))
}
