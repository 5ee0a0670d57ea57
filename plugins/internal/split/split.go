// Package split cuts a text in Markdown into pieces that a platform takes.
//
// A piece ends at a paragraph, else at a line, else at a word, and within a word only
// where that is longer than a piece. It never ends within a rune, nor within a link
// that fits into a piece. A code fence that is cut is closed and opened again, with
// its language. But for white space at the cuts, the pieces are the whole text.
package split

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown cuts text into pieces for each of which fits is true. What is shorter
// should fit where the longer does. A rune that does not fit alone is a piece
// nevertheless.
func Markdown(text string, fits func(piece string) bool) []string {
	c := cutter{fits: fits, guess: firstGuess}
	return c.pieces(text)
}

// firstGuess is how long a piece is at least, mostly.
const firstGuess = 256

type cutter struct {
	fits  func(string) bool
	guess int // about how long a piece is
}

func (c *cutter) pieces(text string) (pieces []string) {
	var open fence // that the piece before was cut in
	for rest := trimBlank(text); rest != ""; {
		head, tail, in := c.cut(rest, open)
		pieces = append(pieces, head)
		rest, open = trimBlank(tail), in
		if !open.open() {
			rest = dedent(rest)
		}
	}
	return pieces
}

// trimBlank removes blank lines in front and white space at the end.
func trimBlank(s string) string {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	for {
		line, rest, more := strings.Cut(s, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}

// dedent moves the front of a text to the left that would begin with a block of code, as it was
// cut within a nested list: up to the first line that is not indented. Code in a fence moves no
// further than its fence.
func dedent(s string) string {
	by := indent(s)
	if by < 4 {
		return s
	}
	lines := strings.Split(s, "\n")
	in, most := fence{}, by
	for i, line := range lines {
		space := indent(line)
		if !in.open() {
			if space == 0 && strings.TrimSpace(line) != "" {
				break
			}
			most = min(by, space)
		}
		in = in.after(line)
		lines[i] = line[min(most, space):]
	}
	return strings.Join(lines, "\n")
}

// indent is how many spaces a line begins with.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// cut takes the first piece of text, which is in the fence open.
func (c *cutter) cut(text string, open fence) (piece, rest string, in fence) {
	whole := open.wrap(text, fence{})
	if len(text) <= 8*c.guess && c.fits(whole) {
		return whole, "", fence{}
	}
	window := c.window(text, open)
	if window == len(text) && c.fits(whole) { // all that is shorter fits, as far as it was measured
		return whole, "", fence{}
	}
	for ; ; window = min(window*2, len(text)) {
		points := pointsOf(text[:window], text, open)
		if at, ok := c.last(text, open, points); ok {
			c.guess = max(firstGuess, at.pos)
			return open.wrap(text[:at.pos], at.in), text[at.next:], at.in
		}
		if window == len(text) || c.hopeless(text, open, points) {
			_, size := utf8.DecodeRuneInString(text)
			return open.wrap(text[:size], open), text[size:], open
		}
	}
}

// window is how much of text has to be looked at: the shortest doubling that does not
// fit.
func (c *cutter) window(text string, open fence) int {
	for n := c.guess; n < len(text); n *= 2 {
		for !utf8.RuneStart(text[n]) {
			n--
		}
		if !c.fits(open.wrap(text[:n], open)) {
			return n
		}
	}
	return len(text)
}

// hopeless reports whether not even the first of the points fits.
func (c *cutter) hopeless(text string, open fence, points [ranks][]point) bool {
	for _, list := range points {
		if len(list) > 0 && !c.fits(open.wrap(text[:list[0].pos], list[0].in)) {
			return true
		}
	}
	return false
}

// last is the last point of the best rank at which a piece fits.
func (c *cutter) last(text string, open fence, points [ranks][]point) (point, bool) {
	for _, list := range points {
		lo, hi := 0, len(list) // all before lo fit
		for lo < hi {
			mid := (lo + hi) / 2
			if c.fits(open.wrap(text[:list[mid].pos], list[mid].in)) {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo > 0 {
			return list[lo-1], true
		}
	}
	return point{}, false
}

// Words cuts one line of any markup at words, or within one that is longer than a
// piece.
func Words(line string, fits func(piece string) bool) (pieces []string) {
	for line != "" {
		n := longest(line, fits)
		if n < len(line) {
			if at := strings.LastIndexAny(line[:n+1], " \t"); at > 0 && strings.TrimSpace(line[:at]) != "" {
				n = at
			}
		}
		pieces = append(pieces, strings.TrimRight(line[:n], " \t"))
		line = strings.TrimLeft(line[n:], " \t")
	}
	return pieces
}

// longest is the length of the longest front of s that fits, of one rune at least.
func longest(s string, fits func(string) bool) int {
	if fits(s) {
		return len(s)
	}
	_, lo := utf8.DecodeRuneInString(s)
	hi := lo
	for hi < len(s) && fits(s[:hi]) { // what is far too long is not measured
		lo, hi = hi, max(runeStart(s, 2*hi), runeEnd(s, hi))
	}
	for {
		mid := max(runeStart(s, (lo+hi)/2), runeEnd(s, lo))
		if mid >= hi {
			return lo
		}
		if fits(s[:mid]) {
			lo = mid
		} else {
			hi = mid
		}
	}
}

func runeStart(s string, at int) int {
	if at >= len(s) {
		return len(s)
	}
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// runeEnd is where the rune ends that begins at at.
func runeEnd(s string, at int) int {
	_, size := utf8.DecodeRuneInString(s[at:])
	return at + size
}
