package markdown

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inlines writes what is within a block or a mark.
func (w *writer) inlines(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(w.inline(c))
	}
	return b.String()
}

func (w *writer) inline(n ast.Node) string {
	d := w.dialect
	switch n := n.(type) {
	case *ast.Text:
		return w.text(n)
	case *ast.String:
		return w.escape(string(n.Value))
	case *ast.CodeSpan:
		if d.CodeSpan != nil && !w.plain {
			return d.CodeSpan(w.codeSpan(n))
		}
		return w.mark("code", d.Code, call(d.EscapeCode, w.codeSpan(n)))
	case *ast.Emphasis:
		if n.Level > 1 {
			return w.marked("bold", d.Bold, n)
		}
		return w.marked("italic", d.Italic, n)
	case *east.Strikethrough:
		return w.marked("strike", d.Strike, n)
	case *ast.Link:
		return w.link(w.linkText(n), string(n.Destination))
	case *ast.Image:
		return w.link(w.linkText(n), string(n.Destination))
	case *ast.AutoLink:
		return w.autoLink(n)
	case *ast.RawHTML:
		return w.escape(string(n.Segments.Value(w.source)))
	case *east.TaskCheckBox:
		if n.IsChecked {
			return "☑ "
		}
		return "☐ "
	}
	return w.inlines(n)
}

func (w *writer) text(n *ast.Text) string {
	value := n.Value(w.source)
	if !n.IsRaw() {
		value = unescape(value)
	}
	s := w.escape(string(value))
	switch {
	case !n.SoftLineBreak() && !n.HardLineBreak():
		return s
	case w.plain:
		return s + " "
	}
	return s + cmp.Or(w.dialect.Newline, "\n")
}

// unescape resolves \* and &amp;. Of \&amp; it leaves &amp;.
func unescape(b []byte) []byte {
	var all []byte
	start := 0
	for i := 0; i+1 < len(b); i++ {
		if b[i] == '\\' && util.IsPunct(b[i+1]) {
			all = append(append(all, entities(b[start:i])...), b[i+1])
			i++
			start = i + 1
		}
	}
	return append(all, entities(b[start:])...)
}

func entities(b []byte) []byte { return util.ResolveEntityNames(util.ResolveNumericReferences(b)) }

func (w *writer) escape(s string) string {
	if w.plain {
		return s
	}
	return call(w.dialect.Escape, s)
}

func (w *writer) codeSpan(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.WriteString(strings.TrimSuffix(string(c.Value(w.source)), "\n"))
			if strings.HasSuffix(string(c.Value(w.source)), "\n") || c.SoftLineBreak() {
				b.WriteString(" ")
			}
		case *ast.String:
			b.Write(c.Value)
		}
	}
	return b.String()
}

// marked writes what is within n with a mark around it, once.
func (w *writer) marked(name string, m Mark, n ast.Node) string {
	if w.open[name] {
		return w.inlines(n)
	}
	w.open[name] = true
	s := w.inlines(n)
	delete(w.open, name)
	return w.mark(name, m, s)
}

func (w *writer) mark(name string, m Mark, s string) string {
	if w.plain || s == "" || w.open[name] {
		return s
	}
	return m.Open + s + m.Close
}

// linkText writes the text of a link, without links in it.
func (w *writer) linkText(n ast.Node) string {
	if w.open["link"] {
		return w.inlines(n)
	}
	w.open["link"] = true
	defer delete(w.open, "link")
	return w.inlines(n)
}

func (w *writer) autoLink(n *ast.AutoLink) string {
	address, label := string(n.URL(w.source)), string(n.Label(w.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	if label == address {
		return w.link("", address)
	}
	return w.link(w.escape(label), address)
}

// link writes a link, or its text where the address may not be followed.
func (w *writer) link(text, address string) string {
	switch {
	case w.open["link"]:
		return cmp.Or(text, w.escape(address))
	case !allowed(address):
		return cmp.Or(text, w.escape(address))
	case !w.plain && w.dialect.Link != nil:
		return w.dialect.Link(text, address)
	case text == "" || strings.TrimPrefix(address, "mailto:") == text:
		return w.escape(strings.TrimPrefix(address, "mailto:"))
	}
	return text + " (" + w.escape(address) + ")"
}

// definition writes the definition of a link that nothing here refers to, such as one of a
// list of sources, or of a text that was cut. It would be lost.
func (w *writer) definition(n *ast.LinkReferenceDefinition) string {
	address, title := string(n.Destination), ""
	if w.linked[address] || !allowed(address) {
		return ""
	}
	if len(n.Title) > 0 {
		title = w.escape(" (" + string(unescape(n.Title)) + ")")
	}
	return call(w.dialect.Paragraph, w.escape("["+string(n.Label)+"]: ")+w.link("", address)+title)
}

// linked is where the links of a text go.
func linked(root ast.Node) map[string]bool {
	all := map[string]bool{}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // which fails never
		switch n := n.(type) {
		case *ast.Link:
			all[string(n.Destination)] = true
		case *ast.Image:
			all[string(n.Destination)] = true
		}
		return ast.WalkContinue, nil
	})
	return all
}

func allowed(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return true
	}
	return false
}
