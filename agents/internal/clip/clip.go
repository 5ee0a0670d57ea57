// Package clip shortens text.
package clip

import "unicode/utf8"

// Head is the beginning of s, at most n bytes of whole characters.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > max(0, n-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // no text
}
