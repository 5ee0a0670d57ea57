package builtin

import (
	"fmt"
	"slices"
	"strings"
)

const (
	diffContext = 3   // lines around a change
	diffWhole   = 400 // lines of a change that are compared one by one
)

// diff is what changes from one text to the other, by lines: one piece from the first
// change to the last, with what is around it.
func diff(before, after string) string {
	a, b := textLines(before), textLines(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from := max(0, head-diffContext)
	to, end := min(len(a), len(a)-tail+diffContext), min(len(b), len(b)-tail+diffContext)
	var out strings.Builder
	fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, from+1, end-from)
	write(&out, " ", a[from:head])
	change(&out, a[head:len(a)-tail], b[head:len(b)-tail])
	write(&out, " ", a[len(a)-tail:to])
	return strings.TrimSuffix(out.String(), "\n")
}

// textLines are those of a text, each with what tells an end without a line feed.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	list := strings.SplitAfter(text, "\n")
	if last := len(list) - 1; list[last] == "" {
		list = list[:last]
	} else {
		list[last] += "\n\\ No newline at end of file\n"
	}
	return list
}

func write(out *strings.Builder, mark string, list []string) {
	for _, line := range list {
		out.WriteString(mark + line)
	}
}

// change writes the lines that differ, with those between them that do not. Where
// that would be much to compare, all old ones come before all new ones.
func change(out *strings.Builder, a, b []string) {
	if len(a) > diffWhole || len(b) > diffWhole {
		write(out, "-", a)
		write(out, "+", b)
		return
	}
	common := longestCommon(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out.WriteString(" " + a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("-" + a[i])
			i++
		default:
			out.WriteString("+" + b[j])
			j++
		}
	}
}

// longestCommon is how many lines a[i:] and b[j:] have in common, in order.
func longestCommon(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i, line := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			if line == other {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}
