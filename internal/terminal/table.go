package terminal

import (
	"fmt"
	"io"
	"strings"
)

// A Table is rows of cells below their headings. On a terminal no line is wider
// than it is: the widest columns are cut first, at their ends, but for those with a cell that is Whole. Where that would leave
// too little of them, each row is a record, with a line for each heading.
type Table struct {
	screen Screen
	rows   [][]cell
	whole  []bool // by column
}

type cell struct {
	text  string
	style Style
}

const (
	gap       = 2 // columns between two cells
	leastCell = 6 // no column is cut below that

	narrowScreen    = 60 // below that many columns
	leastNarrowCell = 10 // is the least that tells something, as there is so little of all columns
)

// NewTable makes a table for a screen, with its headings.
func NewTable(s Screen, heads ...string) *Table {
	t := &Table{screen: s, whole: make([]bool, len(heads))}
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

// Whole is a cell that says another thing where it is cut, as a time does.
type Whole string

// Row adds a row. A cell is a Styled, a Whole, or anything that fmt prints; it is put on
// one line.
func (t *Table) Row(cells ...any) {
	row := make([]cell, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case Styled:
			row[i] = cell{oneLine(c.Text), c.Style}
		case Whole:
			row[i], t.whole[i] = cell{text: oneLine(string(c))}, true
		default:
			row[i] = cell{text: oneLine(fmt.Sprint(c))}
		}
	}
	t.rows = append(t.rows, row)
}

func oneLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Write writes the table.
func (t *Table) Write(w io.Writer) error {
	var text string
	if widths, ok := t.widths(); ok {
		text = t.lines(widths)
	} else {
		text = t.records()
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}

func (t *Table) lines(widths []int) string {
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
	return b.String()
}

// records are the rows one below the other, each with its cells below each other. No text is cut.
func (t *Table) records() string {
	heads, widest := t.rows[0], 0
	for _, head := range heads {
		widest = max(widest, Width(head.text))
	}
	room := max(t.screen.Width-widest-gap, 2) // a wide character has two columns
	var b strings.Builder
	for n, row := range t.rows[1:] {
		if n > 0 {
			b.WriteByte('\n')
		}
		for i, c := range row {
			b.WriteString(t.screen.Paint(heads[i].style, heads[i].text))
			before := widest - Width(heads[i].text) + gap
			for _, line := range split(c.text, room) {
				b.WriteString(strings.Repeat(" ", before) + t.screen.Paint(c.style, line) + "\n")
				before = widest + gap
			}
			if c.text == "" {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// split is text in lines of so many columns.
func split(text string, columns int) (lines []string) {
	for text != "" {
		end, room := len(text), columns
		for i, r := range text {
			if room -= runeWidth(r); room < 0 {
				end = i
				break
			}
		}
		lines = append(lines, text[:end])
		text = text[end:]
	}
	return lines
}

// widths are those of the columns, so that all of them fit; ok is false where they cannot.
func (t *Table) widths() (_ []int, ok bool) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], Width(c.text))
		}
	}
	if t.screen.Width == 0 || len(t.rows) == 1 {
		return widths, true
	}
	least := leastCell
	if t.screen.Width < narrowScreen {
		least = leastNarrowCell
	}
	room := t.screen.Width - gap*(len(widths)-1)
	var cut []*int
	for i := range widths {
		if t.whole[i] {
			room -= widths[i]
		} else {
			cut = append(cut, &widths[i])
		}
	}
	return widths, narrow(cut, room, least)
}

// narrow takes from the widest columns until all fit into room, or none is wider than least.
func narrow(widths []*int, room, least int) bool {
	for {
		sum, widest := 0, 0
		for _, n := range widths {
			sum, widest = sum+*n, max(widest, *n)
		}
		if sum <= room || widest <= least {
			return sum <= room
		}
		next := least // the width of the widest column that is less wide
		var cut []*int
		for _, n := range widths {
			if *n == widest {
				cut = append(cut, n)
			} else {
				next = max(next, *n)
			}
		}
		each := min(widest-next, (sum-room+len(cut)-1)/len(cut))
		for _, n := range cut {
			*n -= max(each, 1)
		}
	}
}
