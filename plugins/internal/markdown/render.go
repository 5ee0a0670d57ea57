package markdown

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

var parser = goldmark.New(goldmark.WithExtensions(
	extension.Strikethrough, extension.Table, extension.TaskList, extension.Linkify,
)).Parser()

// Render writes a text in Markdown as d has it. It is safe for concurrent use.
func (d *Dialect) Render(markdown string) string {
	source := []byte(markdown)
	w := writer{dialect: d, source: source, open: map[string]bool{}}
	root := parser.Parse(text.NewReader(source))
	w.linked = linked(root)
	return w.blocks(root)
}

// A writer writes one text.
type writer struct {
	dialect *Dialect
	source  []byte
	open    map[string]bool // marks that are open
	linked  map[string]bool // where links go
	plain   bool            // within a cell of a table
}

// blocks writes the blocks within n.
func (w *writer) blocks(n ast.Node) string {
	between := cmp.Or(w.dialect.Blocks, "\n\n")
	var b strings.Builder
	var last ast.Node
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		s := w.block(c)
		if s == "" {
			continue
		}
		if last != nil {
			if tight(last, c) {
				b.WriteString("\n")
			} else {
				b.WriteString(between)
			}
		}
		b.WriteString(s)
		last = c
	}
	return b.String()
}

// tight reports whether n follows, with no blank line between them, the text of an item of a
// list, or a definition as another.
func tight(last, n ast.Node) bool {
	definition := ast.KindLinkReferenceDefinition
	return last.Kind() == ast.KindTextBlock || last.Kind() == definition && n.Kind() == definition
}

func (w *writer) block(n ast.Node) string {
	d := w.dialect
	switch n := n.(type) {
	case *ast.Heading:
		return w.heading(n)
	case *ast.Paragraph:
		return call(d.Paragraph, w.inlines(n))
	case *ast.TextBlock:
		return w.inlines(n)
	case *ast.CodeBlock:
		return w.pre(w.lines(n), "")
	case *ast.FencedCodeBlock:
		return w.pre(w.lines(n), string(n.Language(w.source)))
	case *ast.HTMLBlock:
		return call(d.Paragraph, w.escape(w.htmlBlock(n)))
	case *ast.Blockquote:
		return w.quote(w.blocks(n))
	case *ast.List:
		return w.list(n)
	case *ast.LinkReferenceDefinition:
		return w.definition(n)
	case *ast.ThematicBreak:
		return cmp.Or(d.Rule, "———")
	case *east.Table:
		return w.pre(w.table(n), "")
	}
	return w.blocks(n)
}

func call(f func(string) string, s string) string {
	if f == nil {
		return s
	}
	return f(s)
}

func (w *writer) heading(n *ast.Heading) string {
	if w.dialect.Heading != nil {
		return w.dialect.Heading(n.Level, w.inlines(n))
	}
	return w.marked("bold", w.dialect.Bold, n)
}

func (w *writer) pre(code, language string) string {
	code = call(w.dialect.EscapeCode, code)
	if w.dialect.Pre == nil {
		return code
	}
	return w.dialect.Pre(code, language)
}

// lines are those of a block of code.
func (w *writer) lines(n ast.Node) string {
	return strings.TrimRight(string(n.Lines().Value(w.source)), "\n")
}

func (w *writer) htmlBlock(n *ast.HTMLBlock) string {
	s := string(n.Lines().Value(w.source))
	if n.HasClosure() {
		s += string(n.ClosureLine.Value(w.source))
	}
	return strings.TrimSpace(s)
}

func (w *writer) quote(s string) string {
	if w.dialect.Quote != nil {
		return w.dialect.Quote(s)
	}
	return "> " + strings.ReplaceAll(s, "\n", "\n> ")
}

func (w *writer) list(n *ast.List) string {
	var items []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		items = append(items, w.blocks(c))
	}
	if w.dialect.List != nil {
		return w.dialect.List(n.IsOrdered(), n.Start, items)
	}
	for i, item := range items {
		lead := cmp.Or(w.dialect.Bullet, "• ")
		if n.IsOrdered() {
			lead = strconv.Itoa(n.Start+i) + ". "
		}
		items[i] = lead + indent(item, len([]rune(lead)))
	}
	if n.IsTight {
		return strings.Join(items, "\n")
	}
	return strings.Join(items, "\n\n")
}

// indent moves all lines but the first.
func indent(s string, by int) string {
	lines := strings.Split(s, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" {
			lines[i] = strings.Repeat(" ", by) + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}
