package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a model gets to see of one result.
const (
	MaxResultBytes = 50 << 10
	MaxResultLines = 2000
)

// markRoom is kept free for the line in the middle, its line ends included.
const markRoom = 100

// Bound is text as a model gets it: valid UTF-8 and within MaxResultBytes and
// MaxResultLines. When that is less than all of it, cut is true, and shown is
// its head and its tail with a line between them that says how much is missing.
func Bound(text string) (shown string, cut bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxResultBytes && lines(text) <= MaxResultLines {
		return text, false
	}
	head := headOf(text, (MaxResultBytes-markRoom)/2, MaxResultLines/2-1)
	rest := text[len(head):]
	tail := tailOf(rest, (MaxResultBytes-markRoom)/2, MaxResultLines/2-1)
	out := rest[:len(rest)-len(tail)]
	mark := fmt.Sprintf("[… %d bytes, %d lines left out …]", len(out), lines(out))
	return strings.TrimSuffix(head, "\n") + "\n" + mark + "\n" + tail, true
}

func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// headOf is the beginning of s within both bounds, whole lines unless the last
// one fills more than half of it.
func headOf(s string, bytes, lines int) string {
	s = s[:min(bytes, len(s))]
	for len(s) > 0 && !endsInRune(s) {
		s = s[:len(s)-1]
	}
	if end := strings.LastIndexByte(s, '\n') + 1; end > len(s)/2 {
		s = s[:end]
	}
	end := 0
	for range lines {
		i := strings.IndexByte(s[end:], '\n')
		if i < 0 {
			return s
		}
		end += i + 1
	}
	return s[:end]
}

func endsInRune(s string) bool {
	r, size := utf8.DecodeLastRuneInString(s)
	return r != utf8.RuneError || size > 1
}

// tailOf is the end of s within both bounds, whole lines unless the first one
// fills more than half of it.
func tailOf(s string, bytes, lines int) string {
	s = s[len(s)-min(bytes, len(s)):]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		s = s[i+1:]
	}
	start := len(s)
	for range lines {
		i := strings.LastIndexByte(strings.TrimSuffix(s[:start], "\n"), '\n')
		if i < 0 {
			return s
		}
		start = i + 1
	}
	return s[start:]
}
