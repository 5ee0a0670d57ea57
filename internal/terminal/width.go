package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is how many columns text takes on a terminal: letters of East Asia and
// most pictures take two, accents and joiners none.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20:
		return 0
	case r < 0x300: // no accents and nothing wide before them
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut is as much of text as fits into columns, with … where something is
// missing.
func Cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if columns -= runeWidth(r); columns < 1 { // the last one is that of …
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
