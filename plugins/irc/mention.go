package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unmention looks for a nick in a text, as a word, and takes it out.
func unmention(text, nick string) (rest string, found bool) {
	rest = text
	for at := 0; ; {
		start, end := word(rest, nick, at)
		if start < 0 {
			break
		}
		found = true
		before, after := rest[:start], rest[end:]
		if strings.TrimSpace(before) == "" {
			before, after = "", strings.TrimLeft(strings.TrimLeft(after, ":,"), " \t")
		} else {
			before = strings.TrimRight(before, " \t")
			if after != "" && strings.ContainsAny(after[:1], ",.?!;:") {
				before = strings.TrimSuffix(before, ",") // those around the name
			}
		}
		rest, at = before+after, len(before)
	}
	if strings.TrimFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }) == "" {
		return text, found // "bot?" is all that was said
	}
	return rest, found
}

// word finds a nick from a place in a text on, with an @ before it. It is -1 where
// it does not occur.
func word(text, nick string, from int) (start, end int) {
	for i := from; i+len(nick) <= len(text); i++ {
		if !strings.EqualFold(text[i:i+len(nick)], nick) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(nick):])
		if i > 0 && inNick(before) || i+len(nick) < len(text) && inNick(after) {
			continue
		}
		if before == '@' {
			return i - 1, i + len(nick)
		}
		return i, i + len(nick)
	}
	return -1, -1
}

func inNick(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("[]\\`_^{|}-", r)
}
