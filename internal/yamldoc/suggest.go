package yamldoc

import (
	"fmt"
	"strings"
)

// Suggest says what somebody who wrote word may have meant.
func Suggest(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there are none"
	}
	return "want " + Alternatives(known)
}

// Alternatives returns "a", "a or b", "a, b or c".
func Alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Nearest returns the word closest to w, or "" when none is close.
func Nearest(w string, words []string) string {
	best, least := "", (len(w)+2)/3+1
	if len(w) > 64 {
		return "" // nobody mistypes that much, and the table would be large
	}
	for _, word := range words {
		if n := distance(w, word); n < least {
			best, least = word, n
		}
	}
	return best
}

// distance counts the letters to insert, drop, change, or swap with the next
// one, to get from a to b.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
