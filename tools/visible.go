package tools

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible is s with what a person would not see as a character as its code. In an emoji they
// stay: a text to send, with each of its hearts as two codes, would be hard to read.
func visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	var last, symbol rune // symbol is last, or what last belongs to as its colour
	b.Grow(len(s))
	for i, c := range s {
		if ' ' <= c && c <= '~' { // as most are
			b.WriteByte(byte(c))
			last, symbol = c, c
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(c):])
		if c == '\n' || shows(c) || isSelector(c) && selects(last, next) || c == joiner && mayBeEmoji(symbol) && mayBeEmoji(next) {
			b.WriteRune(c)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		}
		if last = c; !isSelector(c) && !unicode.Is(skinTones, c) {
			symbol = c
		}
	}
	return b.String()
}

// shows reports whether c is seen where it stands.
func shows(c rune) bool { return unicode.IsPrint(c) && !unicode.Is(unseen, c) }

// unseen are characters that Go counts as printed and that no font shows: those that
// Unicode has left out where they are not supported (Default_Ignorable_Code_Point), and
// letters that are blank.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // Khmer vowels that are not written
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian variation selectors
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille without a dot
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // Hangul filler of half width
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // blanks between hieroglyphs
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // filler of the Khitan script
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // note without a head
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}, // tags, more variation selectors
	},
}

var skinTones = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0x1F3FB, Hi: 0x1F3FF, Stride: 1}}}

const (
	joiner = '\u200D'
	keycap = '\u20E3'
)

// isSelector reports whether c has what stands before it shown as an emoji, or as text.
func isSelector(c rune) bool { return c == '\uFE0E' || c == '\uFE0F' }

// selects reports whether a selector stands where emoji have one: behind a symbol, or before what
// makes a key of a digit.
func selects(last, next rune) bool {
	return mayBeEmoji(last) || next == keycap && strings.ContainsRune("0123456789#*", last)
}

// mayBeEmoji reports whether c is a symbol that is shown.
func mayBeEmoji(c rune) bool {
	symbol := unicode.Is(unicode.So, c) || c >= 0x2190 && unicode.Is(unicode.Sm, c) // © to 🫶; arrows
	return symbol && shows(c) || strings.ContainsRune("‼⁉ℹ〰〽", c)
}
