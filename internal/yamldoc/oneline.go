package yamldoc

import (
	"strconv"
	"strings"
	"unicode"
)

// The text of a problem quotes what stands in a file: of a longer one the middle
// is left out, for the end says what is wanted.
const (
	headOfText = 400
	tailOfText = 200
)

// oneLine is a text as a terminal and a log may show it: what is not printed is
// escaped.
func oneLine(text string) string {
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
	}
	runes := []rune(b.String())
	if len(runes) <= headOfText+tailOfText {
		return b.String()
	}
	return string(runes[:headOfText]) + " … " + string(runes[len(runes)-tailOfText:])
}
