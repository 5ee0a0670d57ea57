package terminal

import (
	"strings"
	"unicode"
)

// Printable is text without what would steer a terminal, or turn its letters
// around.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if Steers(r) {
			return -1
		}
		return r
	}, text)
}

// Steers reports whether a terminal may do something at r instead of showing it.
func Steers(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}
