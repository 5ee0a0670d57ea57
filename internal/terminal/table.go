package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Table is rows of cells below their headings. On a terminal no line is wider
// than it is: the widest columns are cut first, at their ends.
type Table struct {
	screen Screen
	rows   [][]cell
}

type cell struct {
	text  string
	style Style
}

const (
	gap       = 2 // columns between two cells
	leastCell = 6 // no column is cut below that
)

// NewTable makes a table for a screen, with its headings.
func NewTable(s Screen, heads ...string) *Table {
	t := &Table{screen: s}
	row := make([]cell, len(heads))
	for i, h := range heads {
		row[i] = cell{h, Bold}
	}
	t.rows = append(t.rows, row)
	return t
}

// A Styled is a cell that does not look like the others.
type Styled struct {
	Text  string
	Style Style
}

// Row adds a row. A cell is a Styled, or anything that fmt prints; it is put on
// one line.
func (t *Table) Row(cells ...any) {
	row := make([]cell, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case Styled:
			row[i] = cell{oneLine(c.Text), c.Style}
		default:
			row[i] = cell{text: oneLine(fmt.Sprint(c))}
		}
	}
	t.rows = append(t.rows, row)
}

func oneLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Write writes the table.
func (t *Table) Write(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	for _, row := range t.rows {
		for i, c := range row {
			text := Cut(c.text, widths[i])
			b.WriteString(t.screen.Paint(c.style, text))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-Width(text)+gap))
			}
		}
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}

// widths are those of the columns, so that all of them fit.
func (t *Table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], Width(c.text))
		}
	}
	if t.screen.Width > 0 {
		narrow(widths, t.screen.Width-gap*(len(widths)-1))
	}
	return widths
}

// narrow takes from the widest columns until all fit into room.
func narrow(widths []int, room int) {
	for {
		sum := 0
		for _, n := range widths {
			sum += n
		}
		widest := slices.Max(widths)
		if sum <= room || widest <= leastCell {
			return
		}
		next := leastCell // the width of the widest column that is less wide
		var cut []int
		for i, n := range widths {
			if n == widest {
				cut = append(cut, i)
			} else {
				next = max(next, n)
			}
		}
		each := min(widest-next, (sum-room+len(cut)-1)/len(cut))
		for _, i := range cut {
			widths[i] -= max(each, 1)
		}
	}
}
