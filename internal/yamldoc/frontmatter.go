package yamldoc

import "strings"

// PlainText is text without the marks of some editors.
func PlainText(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
}

// SplitFront returns the front matter with an empty line in place of its first
// dashes, so that its lines keep their numbers.
func SplitFront(text string) (front, body string, ok bool) {
	rest, found := strings.CutPrefix(text, "---\n")
	if !found {
		return "", text, true
	}
	if body, found = strings.CutPrefix(rest, "---\n"); found {
		return "", body, true
	}
	front, body, found = strings.Cut(rest+"\n", "\n---\n")
	return "\n" + front, body, found
}

// Text returns a field that no file holds as such.
func Text(key, value string, at Place) Field {
	word := func(s string) *Node { return &Node{Kind: Scalar, tag: "!!str", Value: s, Source: s, At: at} }
	return Field{Key: word(key), Value: word(value)}
}
