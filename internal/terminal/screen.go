// Package terminal writes for people: tables that fit the screen, colour where
// there is one, a sign of life while something takes its time, and Markdown.
//
// What goes to a pipe or a file is never cut, coloured or animated. Nothing here
// is safe for concurrent use unless it says so.
package terminal

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// A Screen is what a writer leads to. The zero Screen is a pipe.
type Screen struct {
	Terminal bool
	Width    int  // in columns; 0: without limit
	Color    bool // only on a terminal
}

// defaultWidth is that of a terminal that does not say its own.
const defaultWidth = 80

// On looks at where w leads. NO_COLOR and TERM=dumb in the environment take the
// colour away; COLUMNS is the width of a terminal that does not tell its own.
func On(w any, getenv func(string) string) Screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Screen{}
	}
	s := Screen{Terminal: true, Width: defaultWidth, Color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		s.Width = width
	}
	return s
}

// A Style is how a piece of text looks.
type Style string

// The styles, as a terminal knows them.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Italic Style = "3"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Paint is text in a style, or as it is where there is no colour.
func (s Screen) Paint(style Style, text string) string {
	if !s.Color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// ClearLine takes what is on the line of the cursor away.
const ClearLine = "\r\x1b[K"

// clearScreen takes everything away.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

// Redraw writes text in place of all that a terminal shows; below each other on
// a pipe.
func (s Screen) Redraw(w io.Writer, text string) error {
	if s.Terminal {
		text = clearScreen + text
	}
	_, err := io.WriteString(w, text)
	return err
}
