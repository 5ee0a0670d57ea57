package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// table writes a table as lines whose columns are aligned by spaces.
func (w *writer) table(n *east.Table) string {
	w.plain = true
	defer func() { w.plain = false }()
	var rows [][]string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		rows = append(rows, w.cells(row))
	}
	width := widths(rows)
	var lines []string
	for i, row := range rows {
		lines = append(lines, line(row, width, n.Alignments))
		if i == 0 {
			lines = append(lines, ruler(width))
		}
	}
	return strings.Join(lines, "\n")
}

func (w *writer) cells(row ast.Node) []string {
	var cells []string
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		cells = append(cells, strings.TrimSpace(w.inlines(c)))
	}
	return cells
}

func widths(rows [][]string) []int {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 1)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return width
}

func line(row []string, width []int, alignments []east.Alignment) string {
	cells := make([]string, len(row))
	for i, cell := range row {
		space := width[i] - utf8.RuneCountInString(cell)
		before := 0
		if i < len(alignments) {
			switch alignments[i] {
			case east.AlignRight:
				before = space
			case east.AlignCenter:
				before = space / 2
			}
		}
		cells[i] = strings.Repeat(" ", before) + cell + strings.Repeat(" ", space-before)
	}
	return strings.TrimRight(strings.Join(cells, " | "), " ")
}

func ruler(width []int) string {
	dashes := make([]string, len(width))
	for i, n := range width {
		dashes[i] = strings.Repeat("-", n)
	}
	return strings.Join(dashes, "-+-")
}
